/** The kinds of events.k8s.io/v1, stored in the form of the core group. */
import { EVENT_COLUMNS } from './columns.ts'
import type { GroupTable } from '../../model/kind_table.ts'
import { EVENT_RULES } from '../rules/events.ts'

export const EVENTS: GroupTable = {
  group: 'events.k8s.io',
  version: 'v1',
  definitions: 'events.v1',
  kinds: [
    {
      kind: 'Event',
      plural: 'events',
      shortNames: ['ev'],
      storedAs: { group: '', version: 'v1', plural: 'events' },
      columns: EVENT_COLUMNS,
      rules: EVENT_RULES,
    },
  ],
}
