/** The CustomResourceDefinitions of an operator's own kinds, at its start: installed, or seen to be there. */
import { messageOf, isReason } from '../core/errors.ts'
import { groupResourceOf, type AnyResource, type CustomResourceDefinition, type Resource } from '../core/resource.ts'
import type { KubeObject } from '../core/objects.ts'
import { sleep, type Clock } from '../async/clock.ts'
import type { Log } from '../observe/log.ts'
import type { Api } from '../client/api.ts'
import { isMissingObject } from '../client/codec.ts'
import { crdDifferences } from '../schema/crd_differences.ts'
import { crdOf } from '../schema/crds.ts'

interface Crd extends KubeObject {
  readonly spec: CustomResourceDefinition['spec']
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] }
}

const CRD: Resource<Crd> = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', scope: 'Cluster' }

interface Dependencies {
  readonly api: Api
  readonly clock: Clock
  readonly log: Log
  readonly fieldManager: string
}

/** How long a server may take to serve a kind after its definition was written. */
const ESTABLISH_MS = 30_000

/** Writes the definitions of our kinds and waits until the server serves them. */
export async function installCrds(resources: readonly AnyResource[], { api, clock, log, fieldManager }: Dependencies, signal: AbortSignal): Promise<void> {
  for (const crd of crdOf(resources)) {
    const target = { resource: CRD, name: crd.metadata.name }
    const before = await find(api, crd.metadata.name, signal)
    const { object } = await api.patch(target, 'apply', crd, { fieldManager, force: true }, signal)
    await established(crd, api, clock, signal)
    const change = !before ? 'Installed' : before.metadata.generation === object.metadata.generation ? undefined : 'Updated'
    if (change) log.info(`${change} ${crd.metadata.name}/${crd.spec.versions.map(({ name }) => name).join(',')}`)
  }
}

/** Throws when a kind of ours is not served as we need it. Without the right to look, says so and goes on. */
export async function verifyCrds(resources: readonly AnyResource[], { api, log }: Dependencies, signal: AbortSignal): Promise<void> {
  for (const crd of crdOf(resources)) {
    const { name } = crd.metadata
    const remedy = `install it (crds: 'install' does that at start)`
    let found: Crd | undefined
    try {
      found = await find(api, name, signal)
    } catch (error) {
      if (!isReason(error, 'Forbidden')) throw error
      log.warn(`Cannot verify CustomResourceDefinition "${name}": ${messageOf(error)}; starting all the same`)
      continue
    }
    if (!found) throw new Error(`Cannot start: CustomResourceDefinition "${name}" is not installed in this cluster; ${remedy}`)
    const [first] = crdDifferences(crd, found)
    if (first) throw new Error(`Cannot start: CustomResourceDefinition "${name}" in this cluster is not the one this operator was written for: ${first}; ${remedy}`)
  }
}

/** The definition as it is in the cluster, if it is there. */
async function find(api: Api, name: string, signal: AbortSignal): Promise<Crd | undefined> {
  try {
    return (await api.get({ resource: CRD, name }, signal)) as Crd
  } catch (error) {
    if (isMissingObject(error)) return undefined
    throw error
  }
}

async function established(crd: CustomResourceDefinition, api: Api, clock: Clock, signal: AbortSignal): Promise<void> {
  const deadline = clock.monotonic() + ESTABLISH_MS
  for (let waitMs = 20; ; waitMs = Math.min(waitMs * 2, 1000)) {
    const { status } = (await api.get({ resource: CRD, name: crd.metadata.name }, signal)) as Crd
    if (status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') && (await serves(crd, api, signal))) return
    if (clock.monotonic() >= deadline) {
      const refused = status?.conditions?.find(({ status }) => status === 'False')?.message
      throw new Error(`Cannot install CustomResourceDefinition "${crd.metadata.name}": the server does not serve it after ${ESTABLISH_MS / 1000} s${refused ? `: ${refused}` : ''}`)
    }
    await sleep(clock, waitMs, signal)
  }
}

/** "Established" comes a moment before the first request is answered. */
async function serves(crd: CustomResourceDefinition, api: Api, signal: AbortSignal): Promise<boolean> {
  const { group, scope, names, versions } = crd.spec
  for (const { name: version, served } of versions) {
    if (!served) continue
    const resource = { group, version, kind: names.kind, plural: names.plural, scope }
    try {
      await api.listPage({ resource }, { limit: 1 }, signal)
    } catch (error) {
      if (isReason(error, 'NotFound') || isReason(error, 'ServiceUnavailable') || isReason(error, 'TooManyRequests')) return false
      // Installing needs no right to list; the informers will say what they lack.
      if (!isReason(error, 'Forbidden')) throw new Error(`Cannot install ${groupResourceOf(resource)}: ${messageOf(error)}`, { cause: error })
    }
  }
  return true
}
