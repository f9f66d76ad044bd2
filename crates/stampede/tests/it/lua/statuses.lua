-- Counts answers by their status, in each thread, and reports the sums.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init()
  found, missing, calls = 0, 0, 0
end

function request()
  calls = calls + 1
  return wrk.format(nil, calls % 3 == 0 and "/missing" or "/found")
end

function response(status)
  if status == 200 then
    found = found + 1
  else
    missing = missing + 1
  end
end

function done()
  local sums = { 0, 0 }
  for _, thread in ipairs(threads) do
    sums[1] = sums[1] + thread:get("found")
    sums[2] = sums[2] + thread:get("missing")
  end
  print(("statuses: 200 x %d, 404 x %d"):format(sums[1], sums[2]))
end
