/** What makes the API server call an operator's webhooks: configurations, conversions, and the CAs in both. */
import { type CustomResourceConversion, groupResourceOf } from '../../core/resource.ts'
import { pause } from '../../async/clock.ts'
import { type Log, safeLog } from '../../observe/log.ts'
import type { Api } from '../../client/api.ts'
import { isInPod } from '../../runtime/os/env.ts'
import { crdOf } from '../../schema/crds.ts'
import {
  configurationsOf,
  conversionOf,
  type WebhookConfiguration,
  type WebhookConfigurations,
  type WebhookTarget,
} from '../../webhook/configurations/configurations.ts'
import { addCas, type AddedCas, injectCa, type TrustingObject } from '../../webhook/configurations/trusted_cas.ts'
import { installConfigurations, refuseServices } from '../../webhook/configurations/install.ts'
import { warnOfDifferences } from '../../webhook/configurations/configuration_differences.ts'
import { KeptCas } from '../../webhook/certificates/kept_cas.ts'
import { keepDefinition, keepTrusted } from '../../webhook/configurations/kept_objects.ts'
import { MUTATING, VALIDATING } from '../../webhook/common/ownership.ts'
import { crdModeOf, type OperatorDescription } from '../description/description.ts'
import { ownKinds } from '../description/used_kinds.ts'
import { serviceNamespaceOf, type StatedTarget } from './address.ts'
import { type AdmissionGroup, configured } from './admissions.ts'
import { ownObjects } from './describe.ts'
import { RESTORE_MS } from './lease.ts'
import { repeatedly } from './repeatedly.ts'
import type { WebhookSetup } from './setup.ts'
import type { Trust } from './trust.ts'

/**
 * How long new webhooks may fail, from the first installation of this process: until replicas of an earlier release
 * have ended. Without progress for this time, Kubernetes calls a rollout failed.
 */
const EASED_MS = 600_000

interface InstallationOptions {
  readonly description: OperatorDescription
  readonly setup: WebhookSetup
  readonly log: Log
  readonly admissions: readonly AdmissionGroup[]
  readonly stated: StatedTarget
  /** Returns the address, whose port is known when the server listens. */
  readonly target: () => WebhookTarget
  readonly trust: Trust
}

/** Installs and keeps what the API server needs to call the webhooks. Its methods are those of `OperatorWebhooks`. */
export class Installation {
  readonly #options: InstallationOptions
  readonly #mode: ReturnType<typeof crdModeOf>['mode']
  /** The names of the definitions with conversions. */
  readonly #crds: readonly string[]
  /** The differences of which a warning was logged. */
  readonly #named = new Set<string>()
  #installingSinceMs: number | undefined

  constructor(options: InstallationOptions) {
    const { description, setup } = options
    this.#options = options
    this.#mode = crdModeOf({ crds: setup.crds ?? description.options.crds }).mode
    this.#crds = [...new Set(description.conversions.map(({ hub }) => groupResourceOf(hub)))]
  }

  get installs(): boolean {
    return this.#mode === 'install'
  }

  /** In development and in tests there is one replica, whose CAs would pile up. */
  get keepsCas(): boolean {
    return this.#options.setup.mode === 'stated'
  }

  /** @throws TypeError for invalid options, with the place in the user's file. */
  configurations(caBundle: string | undefined): WebhookConfigurations {
    const { description, admissions, setup, target } = this.#options
    return configurationsOf({
      operator: description.options.name,
      admissions: admissions.flatMap(configured),
      target: target(),
      caBundle,
      own: ownObjects(description, setup.namespace),
    })
  }

  async conversion(signal: AbortSignal): Promise<CustomResourceConversion | undefined> {
    await this.#refuse(signal)
    if (this.#crds.length === 0) return undefined
    const { target, trust } = this.#options
    return conversionOf(target(), await trust.bundle(signal))
  }

  async addCas(signal: AbortSignal, only?: TrustingObject): Promise<AddedCas> {
    const { admissions, setup, target, trust } = this.#options
    const crds = this.#crds
    const bundle = admissions.length + crds.length === 0 ? undefined : await trust.bundle(signal)
    if (bundle === undefined) return { isOurs: false, isWritten: false }
    return await addCas(bundle, { crds, target: target(), only }, this.#dependencies(setup.api), signal)
  }

  async install(api: Api, signal: AbortSignal): Promise<void> {
    const { stated, setup, trust } = this.#options
    await this.#refuse(signal)
    const nowMs = setup.clock.monotonic()
    this.#installingSinceMs ??= nowMs
    // By loopback, no other replica is called.
    const easesNew = stated !== 'loopback' && nowMs - this.#installingSinceMs < EASED_MS
    const configurations = this.configurations(await trust.bundle(signal))
    await installConfigurations(configurations, { ...this.#dependencies(api), easesNew }, signal)
  }

  /** Installs again and again. */
  restore(api: Api, signal: AbortSignal): Promise<void> {
    const { setup: { clock }, log } = this.#options
    const install = (): Promise<void> => this.install(api, signal)
    return repeatedly('restore the webhook configurations', install, RESTORE_MS, { clock, log }, signal)
  }

  async keepInstalled(
    api: Api,
    reinstall: ((signal: AbortSignal) => Promise<void>) | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { description, setup: { clock, elect }, target } = this.#options
    const { conversions } = description
    const { log, operator } = this.#dependencies(api)
    const addMissing = async (object: TrustingObject, signal: AbortSignal): Promise<boolean> =>
      (await this.addCas(signal, object)).isWritten
    const kept = { api, clock, log, addCas: addMissing }
    const definitions = crdOf(ownKinds(description), { conversions, conversion: conversionOf(target()) })
    const wanted = async (signal: AbortSignal): Promise<CustomResourceConversion> => (await this.conversion(signal))!
    const keep = async (name: string): Promise<void> => {
      const { versions } = definitions.find(({ metadata }) => metadata.name === name)!.spec
      await keepDefinition({ ...kept, name, wanted, versions, restores: this.installs, reinstall, operator }, signal)
    }
    const configured = Object.values(this.configurations(undefined)).filter((each) => each !== undefined)
    const trust = async ({ kind, metadata: { name } }: WebhookConfiguration): Promise<void> =>
      await keepTrusted(kind === MUTATING.kind ? MUTATING : VALIDATING, name, kept, signal)
    const restored = async (): Promise<void> => {
      await pause(clock, RESTORE_MS, signal)
      await this.restore(api, signal)
    }
    // Without leader election, the holder of the Lease restores the configurations.
    await Promise.all([
      ...(this.#mode === 'ignore' ? [] : [...this.#crds.map(keep), ...configured.map(trust)]),
      ...(this.installs && !elect ? [restored()] : []),
    ])
  }

  rotate(api: Api, signal: AbortSignal): Promise<void> {
    const { setup: { clock }, log, target, trust } = this.#options
    const kept = new KeptCas()
    const keeps = (pem: string): boolean => kept.keeps(pem, clock.now(), clock.monotonic())
    const inject = async (bundle: string, signal: AbortSignal): Promise<number> => {
      const beganMs = clock.monotonic()
      kept.begin(bundle)
      const trusting = { crds: this.#crds, target: target(), keeps }
      const { written, found } = await injectCa(bundle, trusting, this.#dependencies(api), signal)
      kept.end(beganMs)
      // Otherwise the operator creates them itself.
      if (!this.installs) {
        warnOfDifferences(found, this.configurations(bundle), this.#named, { ...this.#dependencies(api), log })
      }
      return written
    }
    return trust.rotate({ api, inject }, signal)
  }

  /** A run outside of the cluster must not take the calls away from the operator in it. */
  async #refuse(signal: AbortSignal): Promise<void> {
    const { stated, setup, target } = this.#options
    if (!this.installs || stated !== 'loopback' || setup.mode === 'memory') return
    const { url } = target() as { url: string }
    await refuseServices(url, this.#crds, this.#dependencies(setup.api), signal)
  }

  #dependencies(api: Api) {
    const { description, log, stated, setup } = this.#options
    return {
      api,
      keepsCas: this.keepsCas,
      log: safeLog(setup.definitionLog ?? log),
      operator: description.options.name,
      namespace: serviceNamespaceOf(stated) ?? (isInPod() ? setup.namespace || 'default' : undefined),
    }
  }
}
