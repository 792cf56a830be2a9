/** From a kind's name to where it is served: what a server has, asked for when it is needed and remembered. */
import { isReason } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import type { Api } from './api.ts'
import { parseApiVersion, readKinds } from './discovery.ts'

/** Which kind: `apiVersion` and `kind` as an object carries them. */
export interface KindName {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string
  readonly kind: string
}

/**
 * One request for each version of a group, at the first question about it, and another whenever the answer does not have the
 * kind: a CRD may have been installed since. Those who ask at the same time share it.
 */
export class RestMapper {
  readonly #api: Api
  readonly #known = new Map<string, ReadonlyMap<string, AnyResource>>()
  readonly #asking = new Map<string, Promise<ReadonlyMap<string, AnyResource>>>()

  constructor(api: Api) {
    this.#api = api
  }

  /** The kind with its plural and scope, or `undefined` when the server does not serve it now, or never could by such a name. */
  async find({ apiVersion, kind }: KindName): Promise<AnyResource | undefined> {
    if (!parseApiVersion(apiVersion)) return undefined
    const known = this.#known.get(apiVersion)?.get(kind)
    return known ?? (await this.#ask(apiVersion)).get(kind)
  }

  #ask(apiVersion: string): Promise<ReadonlyMap<string, AnyResource>> {
    let asking = this.#asking.get(apiVersion)
    if (!asking) {
      asking = this.#read(apiVersion).finally(() => this.#asking.delete(apiVersion))
      this.#asking.set(apiVersion, asking)
    }
    return asking
  }

  async #read(apiVersion: string): Promise<ReadonlyMap<string, AnyResource>> {
    try {
      const kinds = new Map((await readKinds(this.#api, apiVersion)).map(({ resource }) => [resource.kind, resource]))
      this.#known.set(apiVersion, kinds)
      return kinds
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error
      // The last CRD of a group takes the group with it.
      this.#known.delete(apiVersion)
      return new Map()
    }
  }
}
