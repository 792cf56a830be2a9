/** Run by the operator's runtime for `kubeloop crd`: loads a file, which starts nothing, and answers with the definitions of its kinds. */
import { messageOf } from '../core/errors.ts'
import type { AnyResource } from '../core/resource.ts'
import { compileErrors, placeOfError } from '../observe/stack.ts'
import { readDescribed } from '../operator/described.ts'
import { type OperatorDescription, watchedResources } from '../operator/description.ts'
import { optionalEnv } from '../runtime/os/env.ts'
import { exitProcess } from '../runtime/os/signals.ts'
import { placeLine, writeLine } from '../runtime/os/terminal.ts'
import { programArguments } from '../runtime/os/this_runtime.ts'
import { crdOf } from '../schema/crds.ts'
import { ANSWER, type Answer } from './crd_answer.ts'

/** Where this file is: in the built package it has a name of the bundler's. */
export const loaderUrl: string = import.meta.url

// Set by the command alone: it imports this file, too, for its name.
const title = optionalEnv('KUBELOOP_CRD')
if (title !== undefined) await answerFor(title, programArguments()[0]!)

async function answerFor(file: string, url: string): Promise<void> {
  const operators: OperatorDescription[] = []
  readDescribed((description) => operators.push(description))
  let answer: Answer
  try {
    answer = answerOf(file, Object.values((await import(url)) as Record<string, unknown>), operators)
  } catch (error) {
    answer = { error: compileErrors(error).map((each) => failure(file, each)).join('\n') }
  }
  writeLine(`\n${ANSWER}${JSON.stringify(answer)}`)
  // Whatever the file holds open, it was only loaded.
  exitProcess(0)
}

function answerOf(file: string, exported: readonly unknown[], operators: readonly OperatorDescription[]): Answer {
  const ofOperators = operators.flatMap((each) =>
    [undefined, ...each.clusters].flatMap((cluster) => watchedResources(each, cluster))
  )
  const definitions = crdOf([...exported.filter(isDefined), ...ofOperators])
  if (definitions.length > 0) return { definitions }
  const why = 'it exports no kind of defineResource, and has no operator for one'
  return { error: `Cannot print the CustomResourceDefinitions of ${file}: ${why}` }
}

function isDefined(value: unknown): value is AnyResource {
  return typeof value === 'object' && value !== null && (value as Partial<AnyResource>).definition?.crd !== undefined
}

function failure(file: string, error: unknown): string {
  const place = placeOfError(error)
  return `Cannot load ${file}: ${messageOf(error).split('\n')[0]}${place ? `\n${placeLine(place)}` : ''}`
}
