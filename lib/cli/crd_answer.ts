/** What the process that loads an operator's file for `kubeloop crd` answers: one line of standard output, with this before its JSON. */
import type { CustomResourceDefinition } from '../core/resource.ts'

export const ANSWER = 'kubeloop-crd:'

export type Answer = { readonly definitions: readonly CustomResourceDefinition[] } | { readonly error: string }
