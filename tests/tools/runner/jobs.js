/** Which test files run where, and which share a process. Plain JavaScript, for tests/run.js. */

/**
 * Files that run under the first runtime alone, as no runtime changes what they find. All others run under each: what
 * opens sockets, files and processes, waits for timers and signals, or encrypts. A file is here if it takes seconds, and
 * another one of its room does the like of it under each runtime.
 */
const ONCE = [
  // Texts and types of this repository, and the files of the package; dist_runs.test.ts runs these.
  'tests/structure/',
  'tests/types/',
  'tests/build/dist.test.ts',
  // Operators of the docs, in memory; the examples of this room run under each runtime.
  'tests/examples/docs.test.ts',
  'tests/examples/doc_comments.test.ts',
  // Texts of commands; the other files of this room load operators and start the command under each runtime.
  'tests/cli/crd_changes.test.ts',
  'tests/cli/crd_check.test.ts',
  'tests/cli/crd_types.test.ts',
  'tests/cli/deploy.test.ts',
  'tests/cli/deploy_kustomize.test.ts',
  'tests/cli/manifests.test.ts',
  'tests/cli/options.test.ts',
  'tests/cli/plan.test.ts',
  // `npm run soak` measures each runtime.
  'tests/soak/',
  // Which rights operators need: their requests are the same everywhere.
  'tests/e2e/least_rights.test.ts',
  'tests/testing/world_account.test.ts',
  // Work in the square of a request's size, or among many objects, which is that under each runtime.
  'tests/apiserver/cost.test.ts',
  'tests/cost/',
  // Objects and schemas that are generated and compared.
  'tests/testing/check_conversion.test.ts',
  'tests/schema/helpers.test.ts',
  'tests/schema/schema_changes.test.ts',
  // Operators in memory, with a clock that the test advances; the other files of their rooms are of the same kind.
  'tests/leader/election.test.ts',
  'tests/operator/buckets.test.ts',
  'tests/simcluster/workloads/workloads.test.ts',
  'tests/simulation/drawn.test.ts',
  'tests/testing/fault_survival.test.ts',
  'tests/testing/world_setup.test.ts',
  // What an API server answers to requests whose bytes no runtime changes; .ci/run has more of these, and runs the
  // embedded one under Bun, too.
  'tests/conformance/embedded.test.ts',
  'tests/conformance/drawn.test.ts',
  'tests/apiserver/explain.test.ts',
  'tests/conformance/real.test.ts',
]

/**
 * Files that Deno leaves to Node, whose engine it has: many cases or much simulated time, in memory, by a clock that the
 * test advances. Bun, which has another engine, runs them. Smaller files of the same rooms run under Deno, too.
 */
const BY_ENGINE = [
  'tests/apiserver/fuzz.test.ts',
  'tests/apiserver/protobuf_requests.test.ts',
  'tests/cache/compact_objects.test.ts',
  'tests/cache/history.property.test.ts',
  'tests/cache/own_writes.property.test.ts',
  'tests/cache/reflector.test.ts',
  'tests/client/apply_cache.test.ts',
  'tests/cli/rights.test.ts',
  'tests/crds/install.test.ts',
  'tests/crds/servers.test.ts',
  'tests/operator/fleet.test.ts',
  'tests/operator/namespaces.test.ts',
  'tests/operator/optional.test.ts',
  'tests/operator/schedules.test.ts',
  'tests/operator/sources.test.ts',
  'tests/queue/queue_state.test.ts',
  'tests/schema/equivalence.test.ts',
  'tests/simcluster/garbage_collector.test.ts',
  'tests/simulation/simulation.test.ts',
  'tests/testing/world.test.ts',
  'tests/testing/world_trouble.test.ts',
  'tests/webhook/admission_fuzz.test.ts',
  'tests/webhook/json_patch.test.ts',
]

/** Files that have a process of their own, with the reasons. */
const ALONE = {
  'tests/manager/profiling.test.ts': 'takes a snapshot of the heap, which has what other files leave',
  'tests/operator/buckets.test.ts': 'counts the objects that the collector leaves',
  'tests/soak/soak.test.ts': 'measures how the heap grows',
  'tests/operator/fleet.test.ts': 'counts the objects that the collector leaves',
  'tests/client/apply_cache.test.ts': 'counts the objects that the collector leaves',
  'tests/examples/docs.test.ts': 'has tests in modules that it writes, and Deno reports them without the file',
  'tests/examples/sample_controller.test.ts': 'has the tests of an example, and Deno reports them without the file',
  'tests/webhook/admission_fuzz.test.ts': 'measures how the heap grows',
  'tests/operator/closed_output.test.ts': 'closes the pipes of a process, which Bun may not notice beside other files',
  'tests/runtime/signals.test.ts': 'counts listeners of the process, and files before it may leave one',
}

/** Files that mostly wait: they run beside the others, one at a time. */
const WAITING = {
  'tests/e2e/embedded.test.ts': 'the Lease of a killed operator must expire',
  'tests/e2e/real.test.ts': 'the same, on the real API server',
}

/**
 * The size of the files of a process: each process compiles what they import anew, so it is large where all files run,
 * and small enough for two cores where few do.
 */
const [FEW_BYTES, MANY_BYTES] = [120_000, 700_000]

/** Files that read the built package. */
const NEEDS_DIST = /tools\/dist\.ts|samples\.ts/

/**
 * Returns the groups of files that share a process, for each runtime: `{ name, runtime, files, isWaiting, needsDist }`.
 *
 * @param {string[]} files
 * @param {string[]} runtimes
 * @param {(file: string) => string} textOf
 */
export function jobsOf(files, runtimes, textOf) {
  const jobs = []
  const maxBytes = files.length < 100 ? FEW_BYTES : MANY_BYTES
  for (const runtime of runtimes) {
    let shared = []
    let bytes = 0
    const close = () => {
      if (shared.length > 0) jobs.push(job(runtime, shared, false))
      shared = []
      bytes = 0
    }
    for (const file of files.filter((each) => runsOn(each, runtime, runtimes))) {
      const text = textOf(file)
      const needsDist = NEEDS_DIST.test(text)
      if (needsDist || file in ALONE || file in WAITING) {
        jobs.push(job(runtime, [file], needsDist))
        continue
      }
      const isOtherRoom = shared.length > 0 && room(file) !== room(shared[0])
      if (bytes + text.length > maxBytes || (isOtherRoom && bytes > maxBytes / 2)) close()
      shared.push(file)
      bytes += text.length
    }
    close()
  }
  return jobs
}

function job(runtime, files, needsDist) {
  const rooms = [...new Set(files.map(room))].join(', ')
  const what = files.length === 1 ? files[0] : `${rooms} (${files.length} files)`
  return { name: `${runtime} ${what}`, runtime, files, isWaiting: files[0] in WAITING, needsDist }
}

function runsOn(file, runtime, runtimes) {
  if (runtime === runtimes[0]) return true
  const isLeftToNode = runtime === 'deno' && runtimes.includes('node')
  return ![...ONCE, ...(isLeftToNode ? BY_ENGINE : [])].some((path) => file.startsWith(path))
}

function room(file) {
  return file.split('/').slice(0, 2).join('/')
}
