"""Announcements, questions, the ends of timers and music: what a device says or plays without being asked.

`Gateway.announcer(device)` returns the `Announcer` of a device. It says one thing at a time, in the order of
the calls:

    await announcer.say(Utterance(text="Dinner is ready", speech=open_speech))
    music = device.create_task(announcer.say(Utterance(text=title, speech=play, gives_way=True)), "music")
    music.cancel()

- `speech` is a function that returns a generator of signed 16 bit little endian mono PCM, of the sample rate
  of `protocol.messages.DOWNLINK` and in pieces of any size. It is called when the device's turn has come, and
  closed in any case. It is not asked for more than the device takes, so it may be endless. It must not pause
  for more than 4 s: fill pauses with silence.
- `say` returns when the device has played everything. Otherwise it raises an `AnnouncementError`, see
  `refusals`, with a translated text.
- To stop, cancel the task that awaits `say`: the device is silent soon after.
- What `gives_way` (music) is ended by anything else that is to be said; it may be begun again after that.
- `delivery` is how something would reach the device now. With `Delivery.TEXT`, something else can be shown,
  with `device.commands.send(messages.alert(...))`.
"""
