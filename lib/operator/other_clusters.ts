/** What operators with several clusters need: a file of its own beside mod.js. */
export { foreignOwners } from './foreign_owners.ts'
export { addGroups } from './groups.ts'
export { openOthers, optionalCluster } from './description/optional.ts'
