-- Prints the result as JSON.
function done(summary, latency, requests)
  local errors = summary.errors
  print(string.format(
    'json: {"requests": %d, "status": %d, "socket": %d, "ordered": %s, "values": %s, "sums": %s}',
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    tostring(latency.min <= latency:percentile(50) and latency:percentile(50) <= latency.max
      and latency.mean > 0 and latency.stdev >= 0),
    tostring(#latency > 0 and select(2, latency(1)) > 0),
    tostring(summary.duration > 900000 and summary.bytes > 0 and type(requests:percentile(50)) == "number")))
end
