-- Waits before each request, longer each time.
local calls = 0

function delay()
  calls = calls + 1
  return calls % 4
end
