"""railfab: model, generate, push and check rail-optimized GPU fabrics on SONiC."""
