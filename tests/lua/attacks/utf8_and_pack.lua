-- result
local said = {}
said[1] = pcall(utf8.char, -1)
said[2] = pcall(utf8.char, 0x7FFFFFFF)
said[3] = pcall(utf8.codepoint, ("x"):rep(100000), 1, -1)
said[4] = pcall(string.pack, "!16 i16 s8", 1, "x")
said[5] = pcall(string.unpack, "s8", "\255\255\255\255\255\255\255\127")
said[6] = pcall(string.format, "%99999999d", 1)
result(said)
