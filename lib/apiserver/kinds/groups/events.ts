/** The kinds of events.k8s.io/v1, stored in the form of the core group. */
import { EVENT_COLUMNS } from './columns.ts'
import { type GroupTable, groupTable, kind } from '../../model/kind_table.ts'
import { EVENT_RULES } from '../rules/events.ts'

export const EVENTS: GroupTable = groupTable('events.k8s.io/v1', [
  kind('Event events ev', {
    storedAs: { group: '', version: 'v1', plural: 'events' },
    columns: EVENT_COLUMNS,
    rules: EVENT_RULES,
  }),
])
