interface Limit {
  readonly value: number;
  /** Subject of the limit, and where its number comes from. */
  readonly help: string;
}

/**
 * All limits that affect clients, by their names in `GET /health`. Sizes are in bytes; names of durations end with
 * their unit.
 */
export const LIMIT_SPECS = {
  MAX_REBALANCES: { value: 400, help: 'Rebalance snapshots in a response: 33 years of monthly rebalances.' },
  MAX_WEIGHT_DATES: { value: 756, help: 'Rows of a table of weights in a response: three years of sessions.' },
  MAX_POSITION_ROWS: { value: 20_000, help: 'Rows of a table of positions in a response.' },
  PERIODS_PER_YEAR: { value: 252, help: 'Sessions per year with which figures are annualised.' },
  DAYS_PER_YEAR: { value: 365, help: 'Sessions per year on calendars that trade every day.' },
  SCHEDULE_LOOKAHEAD_DAYS: { value: 366, help: 'Days after its date `asof` that a schedule includes.' },
  MAX_STALE_SESSIONS: {
    value: 5,
    help: 'Default number of sessions after which the last price of a security is no longer used.',
  },
  MIN_NAME_OBSERVATIONS: { value: 20, help: 'Minimum number of returns of a security in a covariance estimate.' },
  MIN_MODEL_OBSERVATIONS: { value: 20, help: 'Minimum number of complete sessions in a covariance estimate.' },
  MAX_SCENARIOS: { value: 5000, help: 'Historical scenarios of an objective: twenty years of sessions.' },
  MAX_DRAWN_SCENARIOS: { value: 100_000, help: 'Simulated scenarios of an objective or a constraint.' },
  MAX_SCENARIO_VALUES: {
    value: 50_000_000,
    help: 'Securities times simulated scenarios of an objective or a constraint: 400 MB.',
  },
  MAX_FRONTIER_DRAWS: {
    value: 1000,
    help: 'Draws of a resampled frontier. The frontier of one draw takes as long as a frontier.',
  },
  MAX_HIERARCHY_SECURITIES: {
    value: 2000,
    help: 'Securities of HierarchicalRiskParityWeight. The distances between the columns of 2000 securities take four seconds.',
  },
  DERIVED_RISK_SESSIONS: { value: 504, help: 'Number of trailing returns of the risk model of a derived index.' },
  MAX_PLUGINS: { value: 16, help: 'Plug-ins in one index document.' },
  MAX_PLUGIN_SOURCE: { value: 65_536, help: 'Characters of the source of a plug-in.' },
  MAX_PLUGIN_INPUTS: { value: 16, help: 'Inputs of a plug-in.' },
  MAX_PLUGIN_STEPS: {
    value: 100_000_000,
    help: 'Steps of one call of a plug-in (iterations of loops and calls of functions): about a second.',
  },
  MAX_PLUGIN_MEMORY_BYTES: { value: 67_108_864, help: 'Memory of a plug-in, including its inputs.' },
  MAX_BODY_BYTES: {
    value: 1_048_576,
    help: 'Body of every route except those that receive data, texts, studies or batches.',
  },
  MAX_BODY_VALUES: {
    value: 50_000,
    help: 'Texts, numbers, lists and objects of a JSON body, except data, studies and batches: the identifiers of 20,000 securities with a number each.',
  },
  MAX_DIRECT_VALUES: {
    value: 1000,
    help: 'Texts, numbers, lists and objects of a JSON body that the event loop checks itself. A thread checks larger bodies.',
  },
  MAX_DIRECT_BYTES: {
    value: 65_536,
    help: 'JSON body that the event loop checks itself. A thread checks larger bodies.',
  },
  MAX_FINDINGS: {
    value: 100,
    help: 'Findings of a response, errors first. `detail.more` of a refusal counts the others. Similar names are suggested for the first 20 unknown names.',
  },
  MAX_IMPORT_BYTES: { value: 67_108_864, help: 'Body of an import.' },
  MAX_IMPORT_TABLE_BYTES: {
    value: 4_294_967_296,
    help: 'Body of an import with a table. It is stored on disk, and 4 GiB are 100 million rows of market data.',
  },
  MAX_SYNTHETIC_BARS: {
    value: 31_500_000,
    help: 'Securities times sessions of a synthetic market: 5000 securities over 25 years.',
  },
  MAX_COPIED_CONTENT_BYTES: {
    value: 2_147_483_648,
    help: 'Size of data that is copied when it is activated: 7000 securities x 25 years x 6 columns.',
  },
  MAX_TOOL_ANSWER_BYTES: {
    value: 50_000,
    help: 'Response of an MCP tool: 25,000 tokens of two bytes, as in long numbers and hashes.',
  },
  MAX_TOOL_JOB_BYTES: {
    value: 20_000,
    help: 'Response of the MCP tool waitForJob, which contains the figures of a result. Other tools return its series.',
  },
  MAX_TOOL_WAIT_SECONDS: {
    value: 50,
    help: 'Maximum wait of the MCP tool waitForJob. Clients end a call after 60 s.',
  },
  MAX_KEY_TOOL_CALLS: {
    value: 20,
    help: 'Concurrent MCP requests of one key, which is also the limit for event streams.',
  },
  MAX_RESOURCE_BYTES: {
    value: 8_388_608,
    help: 'MCP resource, which is a single message. Read larger resources over HTTP.',
  },
  MAX_TEXT_BYTES: { value: 1_048_576, help: 'Text whose numbers are verified, in UTF-8.' },
  MAX_TEXT_NUMBERS: { value: 2000, help: 'Numbers of a text that is verified.' },
  MAX_JSON_DEPTH: { value: 64, help: 'Nesting levels of a JSON body.' },
  HEARTBEAT_TIMEOUT_SECONDS: { value: 60, help: 'Time without a heartbeat after which a running job is queued again.' },
  MAX_JOB_SECONDS: { value: 3600, help: 'Wall time of one attempt of a job.' },
  CANCEL_GRACE_SECONDS: { value: 2, help: 'Time for a cancelled job to release its worker.' },
  MAX_BATCH_IDS: {
    value: 500,
    help: 'Indices in one request for backtests, which is also the limit of a listing of jobs.',
  },
  MAX_RERUN_IDS: {
    value: 10_000,
    help: 'Indices and strategies in one request for reruns. Their runs are stored in one transaction.',
  },
  MAX_STUDY_RUNS: {
    value: 10_000,
    help: 'Optimisations in one study. Their results are stored in one transaction.',
  },
  MAX_COMPARE_IDS: { value: 32, help: 'Runs in one comparison.' },
  MAX_ATTEMPTS: { value: 3, help: 'Crashes of one job after which the job fails.' },
  MAX_QUEUED_JOBS: { value: 10_000, help: 'Jobs waiting for a worker.' },
  MAX_KEY_QUEUED_JOBS: { value: 100, help: 'Waiting jobs of one key.' },
  MAX_KEY_RUNNING_JOBS: {
    value: 4,
    help: 'Concurrent heavy jobs of one key. If half of the workers is a larger number, it applies instead.',
  },
  MAX_KEY_REQUESTS_PER_SECOND: {
    value: 1000,
    help: 'Sustained requests per second of one key: a tenth of the capacity of one process.',
  },
  MAX_KEY_REQUEST_BURST: {
    value: 10_000,
    help: 'Burst of requests of one key after a pause: the requests of ten seconds.',
  },
  MAX_ENDED_JOBS: {
    value: 20_000,
    help: 'Ended jobs that are stored. The oldest jobs are removed. The service can load this number in less than two seconds at its start.',
  },
  MAX_LISTED_JOBS: { value: 500, help: 'Jobs in one response of the list.' },
  MAX_WAIT_SECONDS: { value: 60, help: 'Maximum `wait` for the status of a job.' },
  MAX_STREAM_SECONDS: {
    value: 3600,
    help: 'Maximum duration of the event stream of all jobs. A client can then reconnect.',
  },
  MAX_EVENT_STREAMS: { value: 1000, help: 'Concurrent streams of job events.' },
  MAX_KEY_STORED_BYTES: {
    value: 1_073_741_824,
    help: 'Documents and versions of one key: a hundred thousand versions of 10 KiB.',
  },
  MAX_KEY_EVENT_STREAMS: {
    value: 20,
    help: 'Event streams of one key. A browser opens six connections to a service, and a desk has several screens.',
  },
  MAX_ADDRESS_CONNECTIONS: {
    value: 500,
    help: 'Connections of one address, except the addresses in `--trusted-proxies`: a quarter of all connections.',
  },
  MAX_OPEN_EXPORTS: { value: 100, help: 'Concurrent exports. Each export uses 4 MiB.' },
  MAX_REQUEST_SECONDS: {
    value: 150,
    help: 'Time until a request without an upload receives a response: its longest wait, a computation and half a minute.',
  },
  MAX_IDLE_WRITE_SECONDS: {
    value: 60,
    help: 'Time without progress after which a response is aborted, because its client does not read it.',
  },
  MAX_QUERY_SECONDS: { value: 60, help: 'Wall time of an immediate computation (previews, what-if).' },
  MAX_SQL_SECONDS: { value: 30, help: 'Wall time of an SQL query.' },
  MAX_SQL_ROWS: {
    value: 1_000_000,
    help: 'Rows of the result of an SQL query. Further rows are omitted, and the response reports this.',
  },
  MAX_SQL_BYTES: { value: 268_435_456, help: 'Result of an SQL query: a million rows of thirty numbers.' },
  MAX_SQL_RUNS: {
    value: 50,
    help: 'Runs that an SQL query reads. The tables of this number of runs can be prepared in half a minute.',
  },
  MAX_SQL_INPUT_BYTES: { value: 2_147_483_648, help: 'Tables of runs that are kept on disk for the next SQL query.' },
  MAX_SQL_UNREAD_BYTES: {
    value: 600_000_000,
    help: 'Results of SQL queries that a key has not read yet. A query of the key waits until a result of the maximum size fits: two results.',
  },
  MAX_SQL_TURN_SECONDS: {
    value: 5,
    help: 'Time after which an SQL query pauses if a key that runs no query waits for its place.',
  },
  MAX_SQL_LENGTH: { value: 65_536, help: 'Characters of an SQL query.' },
  MAX_SIMULATION_SESSIONS: { value: 2520, help: 'Sessions of a simulated path: ten years.' },
  MAX_SIMULATION_PATHS: {
    value: 10_000_000,
    help: 'Paths of a simulation. 28 bytes of each path are stored until the simulation ends.',
  },
  MAX_SWEEP_VARIANTS: { value: 100_000, help: 'Variants of a sweep: an hour of two workers at 70 ms each.' },
  MAX_SWEEP_PATCHES: { value: 10_000, help: 'Variants of a sweep in a list of patches. More variants need a grid.' },
  MAX_SWEEP_LEVELS: {
    value: 300_000_000,
    help: 'Variants of a sweep times sessions. 3.6 GB of levels are stored on disk until the sweep ends.',
  },
  MAX_SWEEP_RESULT_ROWS: {
    value: 2000,
    help: 'Rows in the result of a sweep, beginning with the best. All rows are available in blocks.',
  },
  MAX_BATCH_ACCOUNTS: { value: 100_000, help: 'Accounts of a batch: an hour of two workers at 70 ms each.' },
  MAX_BATCH_BYTES: { value: 268_435_456, help: 'Accounts of a batch as JSON: 4 million lots.' },
  MAX_BATCH_UPLOAD_BYTES: {
    value: 68_719_476_736,
    help: 'Accounts of a batch as lines or a table, which are stored until the batch ends: 100,000 accounts with 8,000 lots.',
  },
  MAX_BATCH_VALUES: {
    value: 30_000_000,
    help: 'Values of the accounts of a batch as JSON: 4 million lots of six values.',
  },
  MAX_STUDY_BYTES: { value: 33_554_432, help: 'Runs of a study as JSON: 3 kB for each of 10,000 runs.' },
  MAX_STUDY_VALUES: {
    value: 1_000_000,
    help: 'Values of the runs of a study as JSON: a hundred for each of 10,000 runs.',
  },
  MAX_ACCOUNT_LOTS: { value: 50_000, help: 'Lots of one account.' },
  MAX_BLOCK_ROWS: { value: 1000, help: 'Rows of a block of a result.' },
  MAX_SWEEP_SPLITS: { value: 1000, help: 'Splits of time in an out-of-sample test.' },
  MAX_JOB_CALLBACKS: { value: 10, help: 'Callbacks of one job, from all clients that request the same job.' },
  MAX_WAITING_CALLBACKS: {
    value: 10_000,
    help: 'Callbacks that wait for their delivery: one for each waiting job.',
  },
  MAX_CALLBACK_ATTEMPTS: {
    value: 16,
    help: 'Attempts to deliver one callback: five hours without a response.',
  },
  MAX_CALLBACK_SECONDS: { value: 10, help: 'Time within which a receiver must respond.' },
  MAX_DELIVERY_TRIES: { value: 3, help: 'Attempts to deliver a file in one attempt of a day of a schedule.' },
  MAX_DELIVERY_ROUNDS: {
    value: 50,
    help: 'Attempts of a day in which a file is delivered to a target: eight hours with the default pause.',
  },
  MAX_DELIVERY_SECONDS: { value: 120, help: 'Time to send one file to a target.' },
  MAX_MAIL_BYTES: { value: 15_728_640, help: 'Files of one mail: 20 MB after encoding.' },
  MAX_EXPRESSION_DEPTH: { value: 16, help: 'Depth of an expression tree.' },
  MAX_EXPRESSION_NODES: { value: 256, help: 'Nodes of an expression tree.' },
  MAX_EXPRESSION_LEAVES: { value: 1024, help: 'Fields and constants of an expression tree: four per node.' },
  MAX_EXPRESSION_LENGTH: { value: 4096, help: 'Characters of an expression as text: sixteen per node.' },
  MAX_EXPRESSION_READS: {
    value: 4096,
    help: 'Datapoints that an expression reads, each with its lag and window, including its definitions: four per leaf.',
  },
  MAX_EXPRESSIONS_LENGTH: {
    value: 16_384,
    help: 'Characters of all expressions of a document as text: four of the longest. A node counts as sixteen characters.',
  },
  MAX_AMENDED_ROWS: {
    value: 2000,
    help: 'Rules, constraints, reviews and datapoints of an index times its amendments, because each version is checked.',
  },
  MAX_DATAPOINTS: { value: 64, help: 'Datapoints that a document defines: one per selection rule.' },
  MAX_RISK_SECURITIES: { value: 20_000, help: 'Securities of an estimated risk model: a matrix of 1.6 GB.' },
  MAX_MODEL_DATES: { value: 600, help: 'Dates of an imported risk model: fifty years of months.' },
  MAX_MODEL_SECURITIES: {
    value: 3000,
    help: 'Securities of an imported risk model: a matrix of 72 MB, and its eigenvalues.',
  },
  MAX_MODEL_FACTORS: { value: 500, help: 'Factors of an imported risk model.' },
  MAX_MODEL_NUMBERS: {
    value: 50_000_000,
    help: 'Covariances of an imported risk model over all of its dates: 400 MB.',
  },
  MAX_REPORT_BLOCKS: { value: 100, help: 'Blocks of a report template.' },
  MAX_REPORT_PAGES: { value: 200, help: 'Pages of a rendered report.' },
  MAX_REPORT_POINTS: {
    value: 20_000,
    help: "Points drawn in one chart: four for every half point of an A3 page's width.",
  },
  MAX_RENDER_SECONDS: { value: 30, help: 'Wall time of one rendering.' },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMIT_SPECS;

export const LIMITS = Object.fromEntries(Object.entries(LIMIT_SPECS).map(([name, { value }]) => [name, value])) as {
  readonly [N in LimitName]: (typeof LIMIT_SPECS)[N]['value'];
}; // the object has a value for each name
