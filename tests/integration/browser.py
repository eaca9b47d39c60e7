# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium, without a screen, for tests of the status page."""

import os
import tempfile

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--hide-scrollbars")


class Missing(Exception):
    """Why there is no browser here."""


def start(*flags):
    """A selenium driver; the caller calls close()."""
    try:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.chrome.service import Service
    except ImportError as error:
        raise Missing(f"{error} (Debian: python3-selenium)") from error
    for program in (CHROMIUM, DRIVER):
        if not os.access(program, os.X_OK):
            raise Missing(f"no {program} (Debian: chromium, chromium-driver)")
    profile = tempfile.TemporaryDirectory(prefix="rdmad-browser-")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile.name}", *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    except WebDriverException as error:
        profile.cleanup()
        raise Missing(f"Chromium does not start: {error.msg}") from error
    driver.profile = profile
    return driver


def close(driver):
    driver.quit()
    driver.profile.cleanup()


def show(driver, width, height=900, theme="light"):
    """The size of the page, and whether it is to be light or dark."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": theme}]})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
