"""Speed, load and robustness of the integration, each claim with the command that measures it."""

import logging

# Nobody needs the library for smaller photos here, and its absence would be a page in the log.
logging.getLogger("homeassistant.components.camera.img_util").disabled = True
