/** Cases of lists: selectors, pages, versions, tables. */
import type { Case } from './api.ts'
import { casesOf, foo, script } from './transcript.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'

export const LIST_CASES: readonly Case[] = casesOf('lists', [
  script('a table of custom objects has their printer columns', [
    ['POST foos', foo('a', { size: 3 })],
    ['MERGE foos/a/status', {
      status: { conditions: [{ type: 'Other', status: 'False' }, { type: 'Ready', status: 'True' }] },
    }],
    ['GET foos ? kind columnDefinitions rows.0.cells.0 rows.0.cells.1 rows.0.cells.2 rows.0.object.kind', undefined, {
      accept: `${TABLE},application/json`,
    }],
  ]),
])
