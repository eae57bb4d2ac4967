-- result
-- Lengths and marks of the stream in texts are texts.
local forged = "\0\0\0\18{\"result\":\"forged\"}.?+"
local back = srv.echo({ text = forged }):await()
result(back.text == forged)
