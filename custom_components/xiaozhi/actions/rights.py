"""Users' rights to use a device, and to call its tools."""

from collections.abc import Iterable
from contextlib import suppress

from homeassistant.auth.models import User
from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er

from ..const import DOMAIN
from ..device.device import Device
from ..tools.risk_words import ADMIN_RISKS, GUARDED_RISKS
from ..tools.tool_risks import risks_of


@callback
def satellite_id(hass: HomeAssistant, device: Device) -> str | None:
    """Return the entity id of a device's satellite, which may be disabled."""
    unique_id = f"{device.mac}_{SATELLITE_DOMAIN}"
    return er.async_get(hass).async_get_entity_id(SATELLITE_DOMAIN, DOMAIN, unique_id)


async def check_device(hass: HomeAssistant, context: Context, device: Device, policy: str) -> None:
    """Check that a user has a right to a device's satellite, the target of the actions.

    `policy` is `POLICY_READ` or `POLICY_CONTROL`. Raises `Unauthorized`.
    """
    user = await restricted_user(hass, context)
    if user is None:
        return
    entity_id = satellite_id(hass, device)
    if entity_id is None or not user.permissions.check_entity(entity_id, policy):
        raise Unauthorized(context=context, entity_id=entity_id, permission=policy)


async def allowed_devices(
    hass: HomeAssistant, context: Context, devices: Iterable[Device], policy: str
) -> list[Device]:
    """Return those of some devices for which `check_device` raises nothing."""
    allowed = []
    for device in devices:
        with suppress(Unauthorized):
            await check_device(hass, context, device, policy)
            allowed.append(device)
    return allowed


async def check_call(hass: HomeAssistant, context: Context, device: Device, name: str) -> None:
    """Check a call of a tool by its name. Raises `Unauthorized`.

    Only an administrator may call a tool that changes firmware, network or identity, that restarts the
    device, that the device reserves for users, or that is unknown.
    """
    tool = device.tools.get(name)
    if tool is None or tool.user_only or not ADMIN_RISKS.isdisjoint(risks_of(tool)):
        await require_admin(hass, context)


async def check_entity(hass: HomeAssistant, context: Context | None, device: Device, name: str) -> None:
    """Check a call by an entity. Raises `Unauthorized` if only an administrator may control it."""
    tool = device.tools.get(name)
    if context is not None and tool is not None and not GUARDED_RISKS.isdisjoint(risks_of(tool)):
        await require_admin(hass, context)


async def require_admin(hass: HomeAssistant, context: Context) -> None:
    """Raise `Unauthorized` if a user who is not an administrator has caused something."""
    if await restricted_user(hass, context) is not None:
        raise Unauthorized(context=context)


async def restricted_user(hass: HomeAssistant, context: Context) -> User | None:
    """Return the user who has caused something; None for administrators. Raises `UnknownUser`."""
    # Automations and scripts that no user has started.
    if context.user_id is None:
        return None
    user = await hass.auth.async_get_user(context.user_id)
    if user is None:
        raise UnknownUser(context=context)
    return None if user.is_admin else user
