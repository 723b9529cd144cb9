"""NAPALM looks drivers up by module name; the driver itself is `fabric.napalm_driver.driver`."""

from fabric.napalm_driver.driver import SonicDriver as SonicDriver
