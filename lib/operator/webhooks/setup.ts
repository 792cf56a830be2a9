/** What the webhooks of an operator are made with, and what they are to the rest of it. */
import type { CustomResourceConversion } from '../../core/resource.ts'
import type { Runnable } from '../../core/runnable.ts'
import type { TurnBudget } from '../../async/clock.ts'
import type { PartEnvironment } from '../../observe/environment.ts'
import type { Log } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import type { Client } from '../../client/client.ts'
import type { LeaderElector } from '../../leader/leader_elector.ts'
import type { WebhookHandler } from '../../webhook/common/handler.ts'
import type { WebhookParts } from '../description/context.ts'
import type { OperatorOptions } from '../description/options.ts'
import type { OperatorMeter } from '../endpoints.ts'

/**
 * `stated`: as the operator's options state. `memory`: the server does not listen, and its handlers are called in this
 * process. A port: on that port of 127.0.0.1 (0 is any free one), with a certificate that is kept in memory.
 */
export type WebhookMode = 'stated' | 'memory' | { readonly port: number }

export interface WebhookSetup extends PartEnvironment {
  /** The operator's own cluster, without a fence. */
  readonly api: Api
  /** Returns the client of one call, whose signal ends the client's requests. */
  readonly client: (call: { readonly signal: AbortSignal }) => Client
  /** The namespace of the cluster's configuration, if it has one. */
  readonly namespace: string | undefined
  /** The URL of the API server. Undefined if something replaces the connection. */
  readonly apiServer?: string | undefined
  /** Overrides the operator's own. */
  readonly crds?: OperatorOptions['crds']
  readonly meter: OperatorMeter | undefined
  /** The time that long work may take of each turn; shared with the operator's other work. */
  readonly budget: TurnBudget
  /** Logs what is installed, instead of `log`. */
  readonly definitionLog?: Log | undefined
  /**
   * Returns an elector, which calls `onOther` when another process holds the Lease. Undefined if no other process
   * serves the webhooks, and with leader election, whose leader installs the configurations.
   */
  readonly elect?: ((onOther: () => void) => LeaderElector) | undefined
  readonly mode: WebhookMode
  /** Aborted when the stop begins. */
  readonly stopping: AbortSignal
}

/** The webhooks of one start of an operator. */
export interface OperatorWebhooks {
  readonly server: WebhookParts & Runnable & Required<Pick<Runnable, 'ready'>>
  /** Whether the server listens. */
  readonly isServed: boolean
  /** The namespace of the Service that the API server calls. Undefined with a URL. */
  readonly serviceNamespace: string | undefined
  /** The handlers by their paths, for calls without a network. */
  readonly handlers: ReadonlyMap<string, WebhookHandler>
  /**
   * Resolves with the `spec.conversion` of CRDs, when the server listens. Undefined without conversions.
   *
   * @throws ConfigError if the installation would replace a Service by a URL of loopback that is not stated.
   */
  conversion(signal: AbortSignal): Promise<CustomResourceConversion | undefined>
  /** Adds our CAs to those of a stored conversion, both in base64. Undefined: ours replace them. */
  readonly mergeCas: ((stored: string, ours: string) => string) | undefined
  /**
   * Makes the API server trust this replica's certificate, where it does not. For every replica, before it is ready and
   * its caches list. A failure is logged.
   */
  addCas(signal: AbortSignal): Promise<void>
  check(signal: AbortSignal): Promise<void>
  /** Writes the configurations. `api` is fenced for the leader. */
  install(api: Api, signal: AbortSignal): Promise<void>
  /**
   * The leader's work: restores what others deleted or changed after {@link install}, or reports it without one.
   * `reinstall` writes the definitions; undefined: their versions are not restored.
   */
  keepInstalled(
    api: Api,
    reinstall: ((signal: AbortSignal) => Promise<void>) | undefined,
    signal: AbortSignal,
  ): Promise<void>
  /**
   * Without leader election, where other processes may serve the webhooks too: {@link install} and
   * {@link keepInstalled} while this replica holds the Lease, so that a release does not undo the configurations of
   * another one beside it. Calls `onDecided` when they are installed, or another replica holds the Lease. If it cannot
   * be had within 10 s, they are installed once without it.
   */
  readonly installUnderLease: ((onDecided: () => void, signal: AbortSignal) => Promise<void>) | undefined
  /** The leader's work: keeps the certificate valid, and the configurations' CAs up to date. */
  rotate(api: Api, signal: AbortSignal): Promise<void>
}
