/**
 * Proves least roles: an operator works with them, and fails without any one verb of any one rule. The same on the
 * embedded API and on a real API server.
 */
import type { ClusterConfig, Transport } from 'kubeloop'
import type { AnyResource } from '../../lib/core/resource.ts'
import type { OperatorDescription } from '../../lib/operator/description/description.ts'
import { Latch } from '../../lib/async/latch.ts'
import { messageOf } from '../../lib/core/errors.ts'
import { KubeClient } from '../../lib/client/kube_client.ts'
import { Api } from '../../lib/client/api.ts'
import type { Client } from '../../lib/client/client.ts'
import { rolesOf } from '../../lib/rights/account.ts'
import { leastRights } from '../../lib/cli/rights/least.ts'
import { type Right, rulesOf } from '../../lib/rights/rules.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { startOperator } from '../../lib/operator/run/start.ts'
import { usedResources } from '../../lib/operator/description/used_kinds.ts'
import { type AskedRight, RightsRecorder } from '../../lib/testing/rights_recorder.ts'
import { watching } from './watching.ts'
import { createObject } from './objects.ts'

/** An API server without the objects of earlier runs. */
interface Stage {
  readonly admin: Transport
  as(namespace: string, account: string): Transport
  /** The address of the server, for the operator's configuration. */
  readonly config: ClusterConfig
  /** Resolves when the roles of a ServiceAccount, created before, are in effect. */
  inEffect(namespace: string, account: string, grants: readonly Right[]): Promise<void>
}

/** One way in which an operator runs. */
export interface Phase {
  readonly name: string
  /** Whether the definitions of earlier runs must be gone. Their deletion takes a real server a while. */
  readonly needsNoDefinitions?: boolean
  /** Creates what is there before the operator starts. */
  prepare?(client: Client): Promise<void>
  /** Wraps the operator's connection, for conditions that are rare. */
  around?(inner: Transport, client: Client): Transport
  /** Resolves when the operator has done all its work. Called when it leads. */
  work(client: Client, until: Until): Promise<void>
}

type Until = (
  resource: AnyResource,
  key: string,
  condition: (object: unknown) => boolean,
) => Promise<void>

export interface Scenario {
  readonly description: OperatorDescription
  /** What stands in the operator's file, besides names of test objects. */
  readonly stands?: (text: string) => boolean
  /** The names and namespaces of reconciled objects that stand in the file as well. */
  readonly reconciled?: readonly string[]
  readonly phases: readonly Phase[]
}

/** The outcome of a run: what was refused or failed, in order. Empty if the operator worked. */
export type Problems = readonly string[]

const ACCOUNT = 'operator'

/** The operator's own namespace. */
export const HOME = 'operator-home'

export function clientOf(transport: Transport): Client {
  return new KubeClient({ api: new Api({ transport }), fieldManager: 'test' })
}

/** Runs an operator in one phase. Its requests go over `connection`. */
async function run(
  { description }: Scenario,
  phase: Phase,
  { admin, config }: Stage,
  connection: Transport,
): Promise<Problems> {
  const client = clientOf(admin)
  const stopping = new AbortController()
  const problems: string[] = []
  const [failed, leads] = [new Latch(), new Latch()]
  const note = (message: string, { error }: { error?: unknown } = {}): void => {
    const text = error === undefined ? message : `${message}: ${messageOf(error)}`
    // A real server's plugin for owner references finds a new kind up to ten seconds later.
    if (!/forbidden|its role lacks/i.test(text) || text.includes('cannot find RESTMapping')) return
    problems.push(text)
    failed.open()
  }
  const ended = startOperator(description, stopping.signal, {
    cluster: { ...config, namespace: HOME },
    transport: connection,
    log: { ...silentLog, warn: note, error: note },
    onAssembled: ({ manager }) => void manager.elected.then(() => leads.open(), () => {}),
  }).catch((error: unknown) => {
    problems.push(messageOf(error))
    failed.open()
  })
  const scope = new AbortController()
  const watches: Promise<unknown>[] = []
  const until: Until = async (resource, key, condition) => {
    // The run may be over while the phase still sends its requests.
    scope.signal.throwIfAborted()
    const { watching: found, ended } = watching(admin, resource, scope.signal)
    watches.push(ended)
    await found.until(key, `expected by ${phase.name}`, condition)
  }
  const work = leads.opened.then(async () => await phase.work(client, until))
  work.catch(() => {})
  try {
    await Promise.race([work, failed.opened])
  } finally {
    stopping.abort(new DOMException('The run is over', 'AbortError'))
    scope.abort(new DOMException('The run is over', 'AbortError'))
    await Promise.allSettled([ended, ...watches])
  }
  return problems
}

export type OpenStage = (phase: Phase) => Promise<Stage>

/** The least rights, and the phases in which they are used. */
type Recorded = Awaited<ReturnType<typeof recordedRights>>

/** Returns the least rights of a scenario, by a record of all its phases with all rights. */
export async function recordedRights(scenario: Scenario, open: OpenStage) {
  const { description, stands = () => false } = scenario
  const rights: AskedRight[] = []
  const used = new Map<Phase, Set<string>>()
  for (const phase of scenario.phases) {
    const own = new Set<string>()
    used.set(phase, own)
    const recorder = new RightsRecorder({
      operator: description.options.name,
      resources: usedResources(description),
      write: (line) => {
        if (!('resource' in line)) return
        rights.push(line)
        own.add(`${line.verb} ${line.resource}`)
      },
    })
    const stage = await open(phase)
    await prepare(phase, stage)
    // The recorder is outermost, as its stacks must lead to the operator's code.
    const problems = await run(scenario, phase, stage, recorder.around(around(phase, stage, stage.admin), null))
    if (problems.length > 0) throw new Error(`${phase.name} failed with all rights: ${problems.join('; ')}`)
  }
  const record = { rights, paths: [], reconciled: new Set(scenario.reconciled) }
  const { phases } = scenario
  return {
    grants: leastRights(description, { namespace: HOME }, record, stands).rights,
    phasesOf({ verb, resource }: Right) {
      const found = phases.filter((phase) => used.get(phase)!.has(`${verb} ${resource}`))
      // The last one first: it has the definitions already.
      return found.length > 0 ? found.reverse() : phases
    },
  }
}

function around(phase: Phase, { admin }: Stage, connection: Transport): Transport {
  return phase.around?.(connection, clientOf(admin)) ?? connection
}

async function prepare(phase: Phase, { admin }: Stage): Promise<void> {
  const client = clientOf(admin)
  await createObject(admin, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME } }, true)
  await phase.prepare?.(client)
}

/** Runs a scenario's phases with only these rights, until one has problems. */
export async function withRights(
  scenario: Scenario,
  open: OpenStage,
  grants: readonly Right[],
  phases: readonly Phase[] = scenario.phases,
): Promise<Problems> {
  for (const phase of phases) {
    const stage = await open(phase)
    await prepare(phase, stage)
    // A name of its own for each run: a real server sees changes of roles a moment later.
    const name = `${ACCOUNT}-${++accounts}`
    for (const object of rolesOf(name, HOME, rulesOf(grants))) await createObject(stage.admin, object, true)
    await stage.inEffect(HOME, name, grants)
    const problems = await run(scenario, phase, stage, around(phase, stage, stage.as(HOME, name)))
    if (problems.length > 0) return problems.map((each) => `${phase.name}: ${each}`)
  }
  return []
}

let accounts = 0

/** One right that is taken away, and what follows. */
type Removal = ReturnType<typeof removalOf>

/** Takes away each right, `parallel` at a time: more than one needs stages that share nothing. */
export async function removals(
  scenario: Scenario,
  open: OpenStage,
  { grants, phasesOf }: Recorded,
  skip: (grant: Right) => boolean = () => false,
  parallel = 1,
): Promise<readonly Removal[]> {
  const found: Removal[] = []
  // The watch of one Lease or Secret only makes a change known sooner.
  const left = grants.filter((each) => !skip(each) && (each.verb !== 'watch' || each.name === undefined)).values()
  const work = async (): Promise<void> => {
    for (const grant of left) {
      const problems = await withRights(scenario, open, grants.filter((each) => each !== grant), phasesOf(grant))
      found.push(removalOf(grant, problems))
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
  return found
}

function removalOf({ verb, group, resource, namespace, name }: Right, problems: Problems) {
  const right = `${verb} ${resource}.${group}${name === undefined ? '' : ` "${name}"`}${
    namespace === undefined ? '' : ` in ${namespace}`
  }`
  const refusal = resource.endsWith('/finalizers')
    ? "you can't set finalizers on"
    : `cannot ${verb} resource "${resource}"`
  // What a role grants is refused with the rule that is missing.
  const rule = `Resources:["${resource}"], Verbs:["${verb}"]}; its role lacks these rules`
  const names = [refusal, rule, ...(verb === 'bind' ? ['verbs: ["bind"]'] : [])]
  return {
    right,
    problems,
    /** Whether a problem names the right. */
    isNamed: problems.some((each) => names.some((name) => each.includes(name))),
  }
}
