"""Users' rights to call tools."""

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized, UnknownUser

from .device.device import Device
from .tools.risk import ADMIN_RISKS, GUARDED_RISKS
from .tools.risk_rules import risks_of

__all__ = ["check_call", "check_control", "check_entity", "require_admin"]


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


async def check_control(hass: HomeAssistant, context: Context, entity_id: str) -> None:
    """Check that an entity may be controlled. Raises `Unauthorized`."""
    if context.user_id is None:
        return
    user = await hass.auth.async_get_user(context.user_id)
    if user is None:
        raise UnknownUser(context=context)
    if not user.permissions.check_entity(entity_id, POLICY_CONTROL):
        raise Unauthorized(context=context, entity_id=entity_id, permission=POLICY_CONTROL)


async def require_admin(hass: HomeAssistant, context: Context) -> None:
    """Check that no ordinary user has caused something. Raises `Unauthorized`."""
    # Automations and scripts that no user has started.
    if context.user_id is None:
        return
    user = await hass.auth.async_get_user(context.user_id)
    if user is None:
        raise UnknownUser(context=context)
    if not user.is_admin:
        raise Unauthorized(context=context)
