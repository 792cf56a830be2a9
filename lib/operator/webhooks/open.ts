/** Assembles the webhooks of an operator. Loaded only for operators that have webhooks. */
import { messageOf } from '../../core/errors.ts'
import { within } from '../../async/clock.ts'
import { safeLog } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import type { Cluster } from '../../manager/cluster.ts'
import type { Manager } from '../../manager/manager.ts'
import type { HealthServer } from '../../manager/servers/health.ts'
import { namesOf } from '../../webhook/configurations/configurations.ts'
import { WEBHOOK_PORT } from '../../webhook/server/defaults.ts'
import { withMissingCas } from '../../webhook/configurations/trusted_cas.ts'
import { WebhookServer } from '../../webhook/server/webhook_server.ts'
import type { WebhookOptions } from '../description/options.ts'
import type { OperatorDescription } from '../description/description.ts'
import { isOnLoopback, loopback, refuseRemote, serviceNamespaceOf, shutdownDelayOf, statedTarget } from './address.ts'
import { groupsOf } from './admissions.ts'
import { checkWebhooks } from './checks.ts'
import { addHandlers } from './handlers.ts'
import { Installation } from './installation.ts'
import { underLease } from './lease.ts'
import type { OperatorWebhooks, WebhookSetup } from './setup.ts'
import { type Trust, trustOf } from './trust.ts'

/** The time limit for work that a start waits for. */
const INJECTION_MS = 10_000

/**
 * Makes the server and the handlers of an operator's webhooks. Nothing listens yet.
 *
 * @throws TypeError for invalid options, with the place in the user's file.
 */
export function openWebhooks(description: OperatorDescription, setup: WebhookSetup): OperatorWebhooks {
  const { options } = description
  const { clock, elect, meter, mode, stopping } = setup
  const log = safeLog(setup.log)
  checkWebhooks(options.webhooks ?? {})
  const given: WebhookOptions = mode === 'stated' ? options.webhooks ?? {} : { port: 0, ...(mode !== 'memory' && mode) }
  const { port = WEBHOOK_PORT, host, clientCa } = given
  const namespace = setup.namespace || 'default'
  const stated = statedTarget(given, options.name, namespace, mode)
  const names = namesOf(stated === 'loopback' ? loopback(port) : stated)
  const trust: Trust = trustOf(description, setup, namespace, names, (signal) => installation.addCas(signal))
  const server = new WebhookServer({
    host: host ?? (isOnLoopback(stated) ? '127.0.0.1' : undefined),
    port,
    certificates: trust,
    clientCa: clientCa === undefined ? undefined : { file: clientCa },
    shutdownDelayMs: shutdownDelayOf(options, mode),
    ...{ stopping, meter, clock, log },
  })
  const admissions = groupsOf(description)
  const target = () => stated === 'loopback' ? loopback(server.port ?? port) : stated
  const installation = new Installation({ description, setup, log, admissions, stated, target, trust })
  const { installs, keepsCas } = installation
  if (installs && stated === 'loopback') refuseRemote(setup.apiServer, loopback(port).url)
  const handlers = addHandlers(server, description, admissions, setup, log)
  // Invalid options must fail the start before anything is written.
  installation.configurations(undefined)
  const install = (api: Api, signal: AbortSignal): Promise<void> => installation.install(api, signal)
  const restore = (api: Api, signal: AbortSignal): Promise<void> => installation.restore(api, signal)
  let isTrustTried = mode === 'memory'
  return {
    server,
    isServed: mode !== 'memory',
    serviceNamespace: serviceNamespaceOf(stated),
    handlers,
    conversion: (signal) => installation.conversion(signal),
    mergeCas: keepsCas ? (stored, ours) => withMissingCas(stored, atob(ours))! : undefined,
    async addCas(signal) {
      const late = (): Error => new Error(`Cannot set the trusted CAs of the webhooks within ${INJECTION_MS / 1000} s`)
      try {
        await within(clock, INJECTION_MS, late, (signal) => installation.addCas(signal), signal)
      } catch (error) {
        if (signal.aborted) throw error
        log.warn(`The API server may not trust the webhooks: ${messageOf(error)}; starting anyway`)
      }
      isTrustTried = true
    },
    async check(signal) {
      if (!isTrustTried) throw new Error('The API server may not trust the certificate of the webhooks yet')
      // In memory nothing listens.
      if (mode !== 'memory') await server.check(signal)
    },
    install,
    keepInstalled: (api, reinstall, signal) => installation.keepInstalled(api, reinstall, signal),
    installUnderLease: elect
      ? (onDecided, signal) => underLease({ elect, onDecided, api: setup.api, install, restore, clock, log }, signal)
      : undefined,
    rotate: (api, signal) => installation.rotate(api, signal),
  }
}

/** Adds the server of webhooks, its readiness check, and the leader's care for its certificate. */
export function addWebhooks(
  { server, rotate, check }: OperatorWebhooks,
  { clusters: { main }, afterWebhooks }: {
    readonly clusters: { readonly main: Cluster }
    readonly afterWebhooks: (signal: AbortSignal) => Promise<void>
  },
  health: HealthServer | undefined,
  manager: Manager,
): void {
  const { name, role } = server
  manager.add({
    name,
    role,
    start: (signal) => server.start(signal),
    async ready(signal) {
      await server.ready(signal)
      await afterWebhooks(signal)
    },
  })
  health?.addReadiness('webhooks', async (signal) => {
    // The Service must leave this replica out before the port is closed.
    if (manager.stopping.aborted) throw new Error('the operator is stopping')
    await check(signal)
  })
  manager.add({ name: 'certificates of webhooks', start: (signal) => rotate(main.api.fenced(manager.fence), signal) })
}
