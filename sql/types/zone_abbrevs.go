package types

// zoneWord is what an abbreviation of a time zone stands for: seconds east of
// UTC, or what the zone's clock calls by it at the time.
type zoneWord struct {
	off  int
	zone string
}

// zoneWords are PostgreSQL's default abbreviations.
var zoneWords = map[string]zoneWord{
	"acdt": {off: 37800}, "acsst": {off: 37800}, "acst": {off: 34200}, "act": {off: -18000},
	"acwst": {off: 31500}, "adt": {off: -10800}, "aedt": {off: 39600}, "aesst": {off: 39600},
	"aest": {off: 36000}, "aft": {off: 16200}, "akdt": {off: -28800}, "akst": {off: -32400},
	"almst": {off: 25200}, "almt": {off: 21600}, "amt": {off: -14400}, "ast": {off: -14400},
	"awsst": {off: 32400}, "awst": {off: 28800}, "azost": {off: 0}, "azot": {off: -3600}, "bdst": {off: 7200},
	"bdt": {off: 21600}, "bnt": {off: 28800}, "bort": {off: 28800}, "bot": {off: -14400},
	"bra": {off: -10800}, "brst": {off: -7200}, "brt": {off: -10800}, "bst": {off: 3600}, "btt": {off: 21600},
	"cadt": {off: 37800}, "cast": {off: 34200}, "cct": {off: 28800}, "cdt": {off: -18000},
	"cest": {off: 7200}, "cet": {off: 3600}, "cetdst": {off: 7200}, "chadt": {off: 49500},
	"chast": {off: 45900}, "chut": {off: 36000}, "clst": {off: -10800}, "cot": {off: -18000},
	"cst": {off: -21600}, "cxt": {off: 25200}, "ddut": {off: 36000}, "eat": {off: 10800},
	"edt": {off: -14400}, "eest": {off: 10800}, "eet": {off: 7200}, "eetdst": {off: 10800}, "egst": {off: 0},
	"egt": {off: -3600}, "est": {off: -18000}, "fet": {off: 10800}, "fjst": {off: 46800}, "fjt": {off: 43200},
	"fnst": {off: -3600}, "fnt": {off: -7200}, "galt": {off: -21600}, "gamt": {off: -32400},
	"gft": {off: -10800}, "gilt": {off: 43200}, "gmt": {off: 0}, "hkt": {off: 28800}, "hst": {off: -36000},
	"ict": {off: 25200}, "idt": {off: 10800}, "irt": {off: 12600}, "ist": {off: 7200}, "jayt": {off: 32400},
	"jst": {off: 32400}, "kdt": {off: 36000}, "kgst": {off: 21600}, "kst": {off: 32400}, "lhst": {off: 37800},
	"ligt": {off: 36000}, "mart": {off: -34200}, "mdt": {off: -21600}, "mest": {off: 7200},
	"mesz": {off: 7200}, "met": {off: 3600}, "metdst": {off: 7200}, "mez": {off: 3600}, "mht": {off: 43200},
	"mmt": {off: 23400}, "mpt": {off: 36000}, "msd": {off: 14400}, "mst": {off: -25200}, "must": {off: 18000},
	"mut": {off: 14400}, "mvt": {off: 18000}, "myt": {off: 28800}, "ndt": {off: -9000}, "nft": {off: -12600},
	"npt": {off: 20700}, "nst": {off: -12600}, "nzdt": {off: 46800}, "nzst": {off: 43200},
	"nzt": {off: 43200}, "pdt": {off: -25200}, "pet": {off: -18000}, "pgt": {off: 36000}, "pht": {off: 28800},
	"pkst": {off: 21600}, "pkt": {off: 18000}, "pmdt": {off: -7200}, "pmst": {off: -10800},
	"pont": {off: 39600}, "pst": {off: -28800}, "pwt": {off: 32400}, "pyst": {off: -10800},
	"ret": {off: 14400}, "sadt": {off: 37800}, "sast": {off: 7200}, "sct": {off: 14400},
	"taht": {off: -36000}, "tft": {off: 18000}, "tjt": {off: 18000}, "tot": {off: 46800},
	"trut": {off: 36000}, "tvt": {off: 43200}, "uct": {off: 0}, "ulast": {off: 32400}, "ut": {off: 0},
	"utc": {off: 0}, "uyst": {off: -7200}, "uyt": {off: -10800}, "uzst": {off: 21600}, "uzt": {off: 18000},
	"vut": {off: 39600}, "wadt": {off: 28800}, "wakt": {off: 43200}, "wast": {off: 25200}, "wat": {off: 3600},
	"wdt": {off: 32400}, "wet": {off: 0}, "wetdst": {off: 3600}, "wft": {off: 43200}, "wgst": {off: -7200},
	"wgt": {off: -10800}, "xjt": {off: 21600}, "yapt": {off: 36000}, "yekst": {off: 21600}, "z": {off: 0},
	"zulu": {off: 0},
	"amst": {zone: "Asia/Yerevan"}, "anast": {zone: "Asia/Anadyr"}, "anat": {zone: "Asia/Anadyr"},
	"arst": {zone: "America/Argentina/Buenos_Aires"}, "art": {zone: "America/Argentina/Buenos_Aires"},
	"azst": {zone: "Asia/Baku"}, "azt": {zone: "Asia/Baku"}, "ckt": {zone: "Pacific/Rarotonga"},
	"clt": {zone: "America/Santiago"}, "davt": {zone: "Antarctica/Davis"}, "easst": {zone: "Pacific/Easter"},
	"east": {zone: "Pacific/Easter"}, "fkst": {zone: "Atlantic/Stanley"}, "fkt": {zone: "Atlantic/Stanley"},
	"gest": {zone: "Asia/Tbilisi"}, "get": {zone: "Asia/Tbilisi"}, "gyt": {zone: "America/Guyana"},
	"iot": {zone: "Indian/Chagos"}, "irkst": {zone: "Asia/Irkutsk"}, "irkt": {zone: "Asia/Irkutsk"},
	"kgt": {zone: "Asia/Bishkek"}, "kost": {zone: "Pacific/Kosrae"}, "krast": {zone: "Asia/Krasnoyarsk"},
	"krat": {zone: "Asia/Krasnoyarsk"}, "lhdt": {zone: "Australia/Lord_Howe"},
	"lint": {zone: "Pacific/Kiritimati"}, "lkt": {zone: "Asia/Colombo"}, "magst": {zone: "Asia/Magadan"},
	"magt": {zone: "Asia/Magadan"}, "mawt": {zone: "Antarctica/Mawson"}, "msk": {zone: "Europe/Moscow"},
	"novst": {zone: "Asia/Novosibirsk"}, "novt": {zone: "Asia/Novosibirsk"}, "nut": {zone: "Pacific/Niue"},
	"omsst": {zone: "Asia/Omsk"}, "omst": {zone: "Asia/Omsk"}, "petst": {zone: "Asia/Kamchatka"},
	"pett": {zone: "Asia/Kamchatka"}, "pyt": {zone: "America/Asuncion"}, "sgt": {zone: "Asia/Singapore"},
	"tkt": {zone: "Pacific/Fakaofo"}, "tmt": {zone: "Asia/Ashgabat"}, "ulat": {zone: "Asia/Ulaanbaatar"},
	"vet": {zone: "America/Caracas"}, "vlast": {zone: "Asia/Vladivostok"}, "vlat": {zone: "Asia/Vladivostok"},
	"volt": {zone: "Europe/Volgograd"}, "yakst": {zone: "Asia/Yakutsk"}, "yakt": {zone: "Asia/Yakutsk"},
	"yekt": {zone: "Asia/Yekaterinburg"},
}
