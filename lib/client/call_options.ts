/** Checks the options of a client's calls. */
import { refuseUnknown, type ShapeOf } from '../core/option_names.ts'
import type { DeleteAllOptions, DeleteOptions, PageOptions, PatchOptions, WatchOptions } from './client.ts'
import type { DeleteQuery } from './requests.ts'

/** Dependents are deleted afterwards, if the caller does not say otherwise. Throws for a limit that is undefined. */
export function deletion(options: DeleteOptions & DeleteAllOptions): DeleteQuery {
  for (const name of ['labels', 'fields', 'uid', 'resourceVersion'] as const) {
    if (name in options && options[name] === undefined) {
      throw new TypeError(`Cannot delete: ${name} is undefined, and would limit nothing; leave it out for that`)
    }
  }
  return { ...checked(options), propagation: options.propagation ?? 'Background' }
}

const SHAPE: ShapeOf<PageOptions & WatchOptions & PatchOptions & DeleteOptions & DeleteAllOptions & { force: 0 }> = {
  ...{ namespace: 0, labels: 0, fields: 0, limit: 0, continue: 0, resourceVersion: 0, bookmarks: 0, signal: 0 },
  ...{ dryRun: 0, fieldManager: 0, fieldValidation: 0, owner: 0, force: 0, subresource: 0 },
  ...{ propagation: 0, gracePeriodSeconds: 0, uid: 0 },
}

/** Throws a TypeError for an unknown option: without it, a call could write or delete more than was meant. */
export function checked<O extends object | undefined>(options: O): O {
  if (options) refuseUnknown('Cannot call the client: ', options, SHAPE)
  return options
}
