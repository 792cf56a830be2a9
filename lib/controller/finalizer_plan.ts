/**
 * What a finalizer asks for, from the object alone: a pure decision, and the write that goes with it as data.
 * A write states what it was decided upon, so that on an object that is not like that any more it does nothing.
 */
import { isDomainName, isLabelText } from '../core/names.ts'
import type { KubeObject } from '../core/objects.ts'

/** An operation of a JSON Patch (RFC 6902). */
type PatchOperation =
  | { readonly op: 'test' | 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export type FinalizerPlan =
  /** It lives, and nothing would hold it for us: the finalizer first, then the reconcile. */
  | { readonly kind: 'add'; readonly patch: readonly PatchOperation[] }
  /** It lives, and waits for us when it is deleted. */
  | { readonly kind: 'reconcile' }
  /** It is being deleted and waits for us: the cleanup first, then the finalizer goes. */
  | { readonly kind: 'clean'; readonly patch: readonly PatchOperation[] }
  /** It is being deleted and does not wait for us: we have ended with it, or had never begun. */
  | { readonly kind: 'ignore' }

/** Finalizers of others are neither removed nor moved, whatever they do meanwhile. */
export function finalizerPlan({ metadata }: KubeObject, finalizer: string): FinalizerPlan {
  const finalizers = metadata.finalizers ?? []
  const isOurs = finalizers.includes(finalizer)
  if (metadata.deletionTimestamp === undefined) {
    return isOurs
      ? { kind: 'reconcile' }
      : { kind: 'add', patch: [sameObject(metadata.uid), ...adding(finalizers, finalizer)] }
  }
  return isOurs
    ? { kind: 'clean', patch: [sameObject(metadata.uid), ...removing(finalizers, finalizer)] }
    : { kind: 'ignore' }
}

/** A namesake that came later is another object. */
function sameObject(uid: string): PatchOperation {
  return { op: 'test', path: '/metadata/uid', value: uid }
}

const PATH = '/metadata/finalizers'

/** The server keeps duplicates, so the list must be the one in which ours was missing. */
function adding(finalizers: readonly string[], finalizer: string): PatchOperation[] {
  // A missing member passes the test for null, and "-" needs a list to be the end of.
  if (finalizers.length === 0) {
    return [{ op: 'test', path: PATH, value: null }, { op: 'add', path: PATH, value: [finalizer] }]
  }
  return [{ op: 'test', path: PATH, value: finalizers }, { op: 'add', path: `${PATH}/-`, value: finalizer }]
}

/** Every duplicate goes, from the end on, so that the places before stay what they are. */
function removing(finalizers: readonly string[], finalizer: string): PatchOperation[] {
  return finalizers
    .flatMap((each, place) => (each === finalizer ? [`${PATH}/${place}`] : []))
    .reverse()
    .flatMap((path): PatchOperation[] => [{ op: 'test', path, value: finalizer }, { op: 'remove', path }])
}

/** Whether the API server takes it as a finalizer of any kind: a qualified name with a domain. */
export function isFinalizerName(text: string): boolean {
  const [domain = '', name = '', ...more] = text.split('/')
  return more.length === 0 && isDomainName(domain) && isLabelText(name)
}
