/* From schema.json, by npm run types. */

/**
 * Everything that a page's script reads.
 */
export interface ReportDocument {
  /**
   * The trials of all studies, a row each.
   */
  csv: string;
  schema: string;
  studies: ReportedStudy[];
}
export interface ReportedStudy {
  /**
   * For each case that was measured, the best first.
   */
  distributions: Distributions[];
  study: WireStudy;
}
/**
 * All measured trials of a case together.
 */
export interface Distributions {
  case: string;
  /**
   * Response times from here on are lower bounds: requests without an end are in them at their age.
   */
  lower_bound_from_us: number | null;
  response: Curve;
  service: Curve;
}
/**
 * Latencies at rising shares of all requests, up to where fewer than 50 lie beyond.
 */
export interface Curve {
  count: number;
  share: number[];
  us: number[];
}
export interface WireStudy {
  cases: WireCase[];
  /**
   * What flags chose beside the workload, where they did.
   */
  chosen?: WireChosen | null;
  detectable_share: number | null;
  duration_s: number;
  finished_at: string | null;
  /**
   * How each generator was reached, where others than this process drove the load.
   */
  generators?: string[];
  id: string;
  kind: string;
  /**
   * What was to be compared and was not.
   */
  left_out: WireLeftOut[];
  machine: WireMachine;
  max_time_s: number | null;
  metric: string;
  /**
   * The node of a cluster that all cases ran on, where they ran in one.
   */
  node?: string | null;
  noise_floor: WireNoiseFloor | null;
  /**
   * What followed at a share of its throughput.
   */
  open_part?: OpenPart | null;
  order: string;
  precision: number;
  /**
   * Which case to take; of comparisons alone.
   */
  recommendation: WireRecommendation | null;
  resumed_at: string[];
  rounds: number | null;
  schema: string;
  seed: number;
  slo: string | null;
  stampede_version: string;
  started_at: string;
  /**
   * Where scatter comes from, in a study that was measured in turns.
   */
  turn_scatter?: WireTurnScatter | null;
  verdicts: WireVerdict[];
  warm_up_s: number;
  /**
   * What holds the first case back, where the others are changes of it.
   */
  why?: WireExplanation | null;
  /**
   * From where on a study that was to be measured in turns was measured in windows.
   */
  windows_from?: WireWindowsFrom | null;
  workload: string;
  yard_stick: WireYardStick;
}
export interface WireCase {
  activity: WireActivity | null;
  app: string;
  /**
   * What Composer's autoloader was in the copies that were served.
   */
  autoloader?: WireAutoloader | null;
  /**
   * The image in which its software was installed, where it ran in containers.
   */
  base_image?: string | null;
  bottleneck: string | null;
  enforced: WireEnforced;
  findings: WireFinding[];
  id: string;
  inside?: Inside | null;
  limits: WireLimits;
  load: WireLoad;
  /**
   * The loads of a scenario's other user classes.
   */
  loads_beside?: WireLoad[];
  php: {
    [k: string]: unknown;
  } | null;
  pinning: WirePinning;
  platform: string;
  /**
   * The public folder, and who answers the paths that are no files of it.
   */
  public_folder?: string | null;
  /**
   * @minItems 2
   * @maxItems 2
   */
  ranks: [number, number] | null;
  /**
   * The commit that the application's folder was checked out from, where it is kept in git.
   */
  revision: WireRevision | null;
  /**
   * What it is compared for: candidate, reference or not-for-production.
   */
  role: string;
  runtime: string;
  runtime_version: string;
  summary: {
    [k: string]: WireEstimate;
  };
  topology: WireTopology;
  trials: WireTrial[];
  tuning: {
    [k: string]: string;
  };
  tuning_reasons: {
    [k: string]: string;
  };
  warm_up: WireWarmUp | null;
}
export interface WireActivity {
  accept_queue_max: {
    [k: string]: number;
  };
  listen_overflows: number | null;
  throttled_share: number | null;
  units: WireUnit[];
}
export interface WireUnit {
  busy_workers_max: number | null;
  busy_workers_median: number | null;
  max_children_reached: number | null;
  restarts: number | null;
  taken_workers_median: number | null;
  total_workers_max: number | null;
  unanswered_share: number;
  unit: string;
}
export interface WireAutoloader {
  /**
   * Whether classes are looked up in a map, and not on the disk.
   */
  class_map: boolean;
  /**
   * Packages for development whose classes or files it knows.
   */
  developers: number;
}
/**
 * `null` where the kernel has no limit, or could not be asked.
 */
export interface WireEnforced {
  cpus: number | null;
  memory_bytes: number | null;
  period_us: number | null;
}
export interface WireFinding {
  advice: string;
  evidence: {
    [k: string]: number;
  };
  id: string;
  severity: string;
  text: string;
}
/**
 * Where PHP's time went in the trials of a case that were sampled. Shares are of the time that PHP's threads ran; intervals are
 * over trials.
 */
export interface Inside {
  /**
   * CPU time of the deployment that was not PHP's threads'.
   */
  beside_php_share: WireEstimate | null;
  flame: Flame;
  functions: WireFunction[];
  /**
   * Instants that were over before anything could be looked at, as on a busy machine.
   */
  missed_instants: number;
  /**
   * What PHP's threads ran of the engine, its libraries and the kernel; empty where the kernel does not show it.
   */
  native: WireNative[];
  /**
   * Whether the kernel's own code was not seen: shares of `native` are of the time outside it.
   */
  native_without_kernel: boolean;
  parts: WirePartTime[];
  /**
   * The share of answers a second that sampling cost.
   */
  price: WireEstimate | null;
  problems: string[];
  /**
   * Time of a request in which its thread could run and did not.
   */
  ready_us: WireEstimate;
  requests: WirePath[];
  sampler_cpu_share: number;
  samples: number;
  torn_share: number;
  waits: WireWait[];
}
export interface WireEstimate {
  high: number | null;
  low: number | null;
  n: number;
  value: number;
}
/**
 * All stacks as a tree, by columns: a node each, parents before what they call; the first is the root. Times are microseconds of a
 * request with all that is called.
 */
export interface Flame {
  /**
   * For each node the place of its name.
   */
  name: number[];
  names: string[];
  /**
   * For each node the place of the one that called it.
   */
  parent: number[];
  running_us: number[];
  waiting_us: number[];
}
export interface WireFunction {
  function: string;
  self_share: WireEstimate;
  total_share: WireEstimate;
}
export interface WireNative {
  /**
   * Its functions that were seen most often.
   */
  most: string[];
  share: WireEstimate;
  /**
   * A part of the engine, or the file of a library.
   */
  what: string;
}
export interface WirePartTime {
  part: string;
  running_us: WireEstimate;
  share: WireEstimate;
  waiting_us: WireEstimate;
}
export interface WirePath {
  path: string;
  share: WireEstimate;
}
export interface WireWait {
  us: WireEstimate;
  wait: string;
}
export interface WireLimits {
  cpus: number;
  memory_bytes: number;
}
export interface WireLoad {
  arrivals?: string | null;
  connections: number;
  model: string;
  rate?: string | null;
  /**
   * Where their number changes: how many, and when.
   */
  stages?: string | null;
}
export interface WirePinning {
  generator: number[];
  server: number[];
  shared: boolean;
}
export interface WireRevision {
  commit: string;
  /**
   * Whether files that git tracks were other than in that commit.
   */
  dirty: boolean;
}
export interface WireTopology {
  balancer: WireBalancer | null;
  client_bits_per_second: number | null;
  client_keep_alive: boolean;
  client_rtt_us: number | null;
  ready: string;
  replica_share: WireLimits | null;
  replicas: number;
  restart: string;
  services: WireService[];
}
export interface WireBalancer {
  balance: string;
  kind: string;
  share: WireLimits | null;
  tls: boolean;
  upstream_keepalive: number;
}
export interface WireService {
  /**
   * The image that it is, in a cluster.
   */
  image: string | null;
  kind: string;
  settings: {
    [k: string]: string;
  };
  share: WireLimits | null;
}
export interface WireTrial {
  answers: WireAnswer[];
  audits: WireAudit[];
  block: number;
  bytes_received: number | null;
  bytes_sent: number | null;
  cache_peak_bytes: number | null;
  client_link: WireLink | null;
  cpu_between_s: number | null;
  cpu_seconds: number | null;
  cpu_us_per_request: number | null;
  enforced: WireEnforced | null;
  errors: {
    [k: string]: number;
  };
  generator: WireGenerator | null;
  instances?: WireInstances | null;
  load_seconds: WireLoadSeconds | null;
  memory_peak_bytes: number | null;
  oom_kills: number | null;
  outcome: string;
  parts: WirePart[];
  periods: number | null;
  php: {
    [k: string]: unknown;
  } | null;
  position: number;
  ready: WireReady | null;
  reason: string | null;
  reconnects: number | null;
  requests: WireCounts | null;
  requests_per_cpu_second: number | null;
  response_us: WireLatencies | null;
  sampling: WireSampling | null;
  sending: WireSending | null;
  service_us: WireLatencies | null;
  started_at: string;
  status: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  steps: WireStep[];
  stops: WireStop[];
  throttled_periods: number | null;
  throttled_seconds: number | null;
  throughput_rps: number | null;
  /**
   * The turns that the window was cut into.
   */
  turns?: WireTurn[];
  warm_up_requests: WireCounts | null;
  window_s: number | null;
}
export interface WireAnswer {
  body_bytes: number;
  exchange: string;
  status: number;
}
export interface WireAudit {
  agrees: boolean;
  answered: number;
  name: string;
  told: WireTold[];
  unknown: number;
}
export interface WireTold {
  after: number;
  before: number;
  by: string;
}
export interface WireLink {
  bytes: number;
  cpu_seconds: number;
  late_p50_us: number;
  late_p99_us: number;
}
export interface WireGenerator {
  cpu_seconds: number;
  cpu_us_per_request: number | null;
  threads: number;
}
export interface WireInstances {
  course: WireCourse;
  lost: number;
  max: number;
  mean: number;
  min: number;
}
/**
 * How many there were from each of these times on, since the window opened.
 */
export interface WireCourse {
  at_us: number[];
  count: number[];
}
/**
 * The whole seconds of a window as the load generator saw them, by when things happened: each lasts to the next one's
 * beginning, the last to the window's last whole second. Percentiles have 2 significant digits, and are `null` where fewer
 * than 1 (p50) or 100 (p99) requests ended.
 */
export interface WireLoadSeconds {
  failed: number[];
  ok: number[];
  response_p50_us: (number | null)[];
  response_p99_us: (number | null)[];
  second: number[];
  sent: number[];
}
/**
 * A part of a trial. `enforced` is the tightest of its own share and the total.
 */
export interface WirePart {
  cache_peak_bytes: number | null;
  cpu_between_s: number | null;
  cpu_seconds: number | null;
  enforced_cpus: number | null;
  enforced_memory_bytes: number | null;
  memory_peak_bytes: number | null;
  oom_kills: number | null;
  part: string;
  periods: number | null;
  /**
   * Requests of the window that were sent to it, where it is a target by itself.
   */
  requests: number | null;
  restarts: WireRestart[];
  settings: {
    [k: string]: string;
  };
  share: WireLimits | null;
  throttled_periods: number | null;
  units: string[];
}
export interface WireRestart {
  after_s: number;
  how: string;
  unit: string;
}
export interface WireReady {
  attempts: number;
  took_s: number;
}
export interface WireCounts {
  failed: number;
  ok: number;
  sent: number;
  unfinished: number;
}
/**
 * In microseconds. A percentile that fewer than 50 latencies exceed is `null`; without latencies everything is.
 */
export interface WireLatencies {
  count: number;
  max: number | null;
  mean: number | null;
  min: number | null;
  p50: number | null;
  p75: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  p999: number | null;
  stddev: number | null;
}
export interface WireSampling {
  cpu_seconds: number;
  queries: WireQuery[];
  series: WireSeries[];
}
/**
 * What a database was seen to work on, in how many samples, and in how many of them it waited for a lock.
 */
export interface WireQuery {
  locked: number;
  seen: number;
  text: string;
  unit: string;
}
/**
 * `source` is `group`, `machine`, `listener`, `unit` or `process`; the last three have a name.
 */
export interface WireSeries {
  at_us: number[];
  columns: {
    [k: string]: (number | null)[];
  };
  name: string | null;
  source: string;
}
/**
 * How the generator sent. Response times from `lower_bound_from_us` on are lower bounds, since censored requests are in them
 * at their age.
 */
export interface WireSending {
  backend: string;
  censored: number;
  lateness_us: WireLatencies;
  lower_bound_from_us: number | null;
  unsent: number;
}
export interface WireStep {
  censored: number;
  errors: {
    [k: string]: number;
  };
  name: string;
  requests: WireCounts;
  response_up_to_1200ms: number;
  response_up_to_800ms: number;
  response_us: WireLatencies;
  service_us: WireLatencies;
  status: {
    /**
     * This interface was referenced by `undefined`'s JSON-Schema definition
     * via the `patternProperty` "^\d+$".
     */
    [k: string]: number;
  };
  unsent: number;
}
export interface WireStop {
  how: string;
  killed: boolean;
  took_s: number;
  unit: string;
}
export interface WireTurn {
  at_s: number;
  cpu_seconds: number | null;
  ok: number;
  periods: number;
  stolen_seconds: number | null;
  window_s: number;
}
/**
 * What a case's pilot showed; without one only the study's `warm_up_s` is known.
 */
export interface WireWarmUp {
  at_rest_after_s: number | null;
  length_s: number;
  outcome: string;
  reason: string | null;
  watched_s: number | null;
}
export interface WireChosen {
  /**
   * Whether visitors keep their cookies by a flag (`--cookies`).
   */
  cookies: boolean;
  /**
   * The dump that the database began each trial with (`--database`), as it was named.
   */
  database: string | null;
  /**
   * Names of the requests that are the load (`--exchanges`); none where the workload says which.
   */
  exchanges: string[];
}
/**
 * A case that was to be compared and was not.
 */
export interface WireLeftOut {
  case: string;
  fix: string | null;
  reason: string;
}
export interface WireMachine {
  cgroup: string;
  cpu_model: string;
  cpus: number;
  kernel: string;
}
export interface WireNoiseFloor {
  calibration: string;
  metrics: {
    [k: string]: WireFloor;
  };
}
export interface WireFloor {
  deviation: number;
  pairs: number;
  share: number;
}
/**
 * What followed a comparison at a share of its throughput.
 */
export interface OpenPart {
  /**
   * Cases that were not measured at this rate.
   */
  left_out: WireLeftOut[];
  /**
   * Each case at the share of its own throughput, but for those for which that is the rate above. Nothing is compared.
   */
  own: WireStudy | null;
  /**
   * The share of its throughput, at which all cases were measured.
   */
  rate_per_second: number;
  /**
   * The share of the throughput: 0.7.
   */
  share: number;
  /**
   * All cases at this rate.
   */
  shared: WireStudy;
  /**
   * The slowest candidate of the closed part.
   */
  slowest: string;
}
/**
 * Which case to take.
 */
export interface WireRecommendation {
  /**
   * candidates: cases that can be shipped; all: no case is a candidate, or the study asks something else.
   */
  among: string;
  /**
   * The one case.
   */
  case: string | null;
  /**
   * All that it may be, the best first.
   */
  cases: string[];
  /**
   * ship: the case; tie: any of the cases; undecided: one of them; only: there is no other; unfinished: ask again when the
   * study is finished; none: nothing can be said.
   */
  decision: string;
  /**
   * The level of the interval: with it, those of all pairs hold together in 95 % of studies.
   */
  level: number | null;
  /**
   * The mean peak of memory of the first case minus that of the next.
   */
  memory_difference_bytes: number | null;
  metric: string;
  /**
   * The case that the ratio compares with.
   */
  next: string | null;
  not_recommended: WireUnfit[];
  /**
   * The figure of the first case over that of the next, at the level below.
   */
  ratio: WireEstimate | null;
  /**
   * The first line of reports.
   */
  reason: string;
}
export interface WireUnfit {
  case: string;
  reason: string;
}
/**
 * Standard deviations of the natural logarithm of throughput: shares of a rate.
 */
export interface WireTurnScatter {
  between_lifetimes: WireDeviation;
  blocks: number;
  turn: WireDeviation;
  turns: number;
}
export interface WireDeviation {
  high: number;
  low: number;
  share: number;
}
export interface WireVerdict {
  a: string;
  b: string;
  blocks_to_decide: number | null;
  metric: string;
  ratio: WireEstimate;
  slight: boolean;
  verdict: string;
}
export interface WireExplanation {
  case: string;
  changes: WireChange[];
  /**
   * The changed case that shows it.
   */
  confirmed_by: string | null;
  /**
   * Other changes that may have moved it as much.
   */
  or_by: string[];
  outcome: string;
  remedy: string | null;
  /**
   * The finding that its records suggest.
   */
  suspected: string | null;
  text: string;
}
export interface WireChange {
  arrived_share: number | null;
  case: string;
  changed: string;
  effect: string;
  factor: number | null;
  from: string;
  ratio: WireEstimate | null;
  to: string;
}
export interface WireWindowsFrom {
  /**
   * The first block in windows.
   */
  block: number;
  why: string;
}
export interface WireYardStick {
  drift: WireDrift | null;
  readings: WireReading[];
}
export interface WireDrift {
  highest: number;
  lowest: number;
  median_requests_per_cpu_second: number | null;
  median_rps: number;
  standing_out: number[];
  trend_share: number | null;
  without: number[];
}
export interface WireReading {
  block: number;
  ok: number | null;
  outcome: string;
  reason: string | null;
  requests_per_cpu_second: number | null;
  started_at: string;
  throughput_rps: number | null;
  window_s: number | null;
}
