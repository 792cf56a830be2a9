/** Scripts of deletions. The answers are recorded. */

import { foo, type Script, script, type Step } from './transcript.ts'

const make = (...names: readonly string[]): readonly Step[] =>
  names.map((name) => ['POST foos', foo(name, { size: 1 }, { labels: { n: name, all: 'yes' } })])
const DELETING = 'metadata.finalizers metadata.deletionGracePeriodSeconds metadata.generation'

export const DELETE_SCRIPTS: readonly Script[] = [
  script('verbs: propagation policies in the query', [
    ...make('a', 'b', 'c'),
    `DELETE foos/a?propagationPolicy=Foreground ? ${DELETING}`,
    `DELETE foos/b?orphanDependents=true ? ${DELETING}`,
    ['DELETE foos/c?propagationPolicy=Foreground', { propagationPolicy: 'Background' }],
    'DELETE foos/a?propagationPolicy=Sideways',
    'DELETE foos/a?gracePeriodSeconds=x',
    'DELETE foos/a?orphanDependents=true&propagationPolicy=Orphan',
    'DELETE foos/a?gracePeriodSeconds=-1',
  ]),
]
