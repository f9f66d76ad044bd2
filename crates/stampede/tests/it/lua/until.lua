-- Put behind a script, has each thread stop after the answers that the test waits for.
local own, left = response, 48

function response(...)
  if own then
    own(...)
  end
  left = left - 1
  if left == 0 then
    wrk.thread:stop()
  end
end
