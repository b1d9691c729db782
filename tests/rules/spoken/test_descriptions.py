"""Alarms are described as people of each language say times and days."""

from datetime import datetime
from typing import Final

import pytest

from custom_components.xiaozhi.guests.spoken.descriptions import say_moment, say_repetition
from custom_components.xiaozhi.guests.spoken.language import load_language

from .recognizer import NOW

_SAID: Final = {
    "de": (
        "heute um 15:09 Uhr",
        "am Freitag, dem 1. Januar um 1 Uhr nachts",
        "jeden Dienstag, Donnerstag und Sonntag um 7:30 Uhr",
    ),
    "en": (
        "today at 3:09 PM",
        "Friday, January 1 at 1 AM in the night",
        "every Tuesday, Thursday and Sunday at 7:30 AM",
    ),
    "es": (
        "hoy a las 15:09",
        "el viernes 1 de enero a la 1:00 de la madrugada",
        "todos los martes, jueves y domingos a las 7:30",
    ),
    "fr": (
        "aujourd’hui à 15 heures 9",
        "le vendredi 1er janvier à 1 heure dans la nuit",
        "tous les mardis, jeudis et dimanches à 7 heures 30",
    ),
    "it": (
        "oggi alle 15:09",
        "venerdì 1º gennaio all’1:00 di notte",
        "ogni martedì, giovedì e domenica alle 7:30",
    ),
    "ja": ("今日の午後3時9分", "1月1日金曜日の深夜1時", "毎週火曜日、木曜日と日曜日の午前7時30分"),
    "ko": ("오늘 오후 3시 9분", "1월 1일 금요일 새벽 1시", "매주 화요일, 목요일, 일요일 오전 7시 30분"),
    "nl": (
        "vandaag om 15:09 uur",
        "op vrijdag 1 januari om 1 uur ’s nachts",
        "elke dinsdag, donderdag en zondag om 7:30 uur",
    ),
    "pl": (
        "dzisiaj o 15:09",
        "w piątek, 1 stycznia o 1:00 w nocy",
        "we wtorki, w czwartki i w niedziele o 7:30",
    ),
    "pt-BR": (
        "hoje às 15h09",
        "sexta-feira, 1º de janeiro à 1h da madrugada",
        "toda terça-feira, toda quinta-feira e todo domingo às 7h30",
    ),
    "ru": (
        "сегодня в 15:09",
        "в пятницу, 1 января в 1:00 ночи",
        "по вторникам, четвергам и воскресеньям в 7:30",
    ),
    "tr": ("bugün saat 15:09", "1 Ocak cuma saat gece 1:00", "her salı, perşembe ve pazar saat 7:30"),
    "vi": (
        "lúc 3 giờ 9 chiều hôm nay",
        "lúc 1 giờ sáng thứ Sáu, ngày 1 tháng 1",
        "lúc 7 giờ 30 sáng thứ Ba, thứ Năm và Chủ nhật hằng tuần",
    ),
    "zh-Hans": ("今天下午3:09", "1月1日星期五凌晨1点", "每星期二、星期四和星期日早上7:30"),
    "zh-Hant": ("今天下午3:09", "1月1日星期五凌晨1點", "每星期二、星期四和星期日早上7:30"),
}


@pytest.mark.parametrize("code", _SAID)
def test_alarms_are_described_as_people_do(code: str) -> None:
    language = load_language(code)
    today, date, weekly = map(
        datetime.fromisoformat, ("2026-11-25T15:09", "2027-01-01T01:00", "2026-11-26T07:30")
    )
    assert (
        say_moment(language, today, NOW),
        say_moment(language, date, NOW),
        say_repetition(language, weekly, "FREQ=WEEKLY;BYDAY=TU,TH,SU", weekly, NOW),
    ) == _SAID[code]
