"""Speaking unasked: announcements, questions, timers and music, as well as a device allows it.

`Gateway.unasked(device)` returns the `Unasked` of a device. It says one thing at a time, in the order of the
calls:

    await unasked.say(Utterance(text="Dinner is ready", speech=open_speech))
    music = device.create_task(unasked.say(Utterance(text=title, speech=play, gives_way=True)), "music")
    music.cancel()

- `speech` is a function that takes a sample rate in Hz and returns a generator of signed 16 bit little endian
  mono PCM of that rate, in pieces of any size. It is called when the device's turn has come, and closed in
  any case. It is not asked for more than the device takes, so it may be endless. It must not pause for more
  than 4 s: fill pauses with silence.
- `say` returns when the device has played everything. It raises an `UnaskedError` with a translated text if
  it has not: `InterruptedSpeechError` if somebody pressed the button, said the wake word or cut the power,
  `NotTakenError` if the device is busy, `ReplacedError` if it gave way to something else, `SoundError` if
  `speech` failed, `OutOfReachError` if nothing can make the device speak now, and `StoppedError` if the
  gateway is stopped.
- To stop, cancel the task that awaits `say`: the device is silent soon after.
- What `gives_way` (music) is ended by anything else that is to be said; it may be begun again after that.
- `way` tells how something would be said now. On a device whose way is `Way.TEXT` something else can be
  shown, with `device.commands.send(messages.alert(...))`.
"""
