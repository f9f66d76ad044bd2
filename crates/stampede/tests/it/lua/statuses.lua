-- Counts answers by their status, in each thread, and reports the sums.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init()
  counts = {}
  calls = 0
end

function request()
  calls = calls + 1
  return wrk.format(nil, calls % 3 == 0 and "/missing" or "/found")
end

function response(status)
  counts[status] = (counts[status] or 0) + 1
end

function done()
  local sums = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("counts")) do
      sums[status] = (sums[status] or 0) + count
    end
  end
  print(("statuses: 200 x %d, 404 x %d"):format(sums[200] or 0, sums[404] or 0))
end
