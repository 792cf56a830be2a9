/** Sets the clusters of a world back to their states of an earlier time. */
import type { FakeClock } from '../async/fake_clock.ts'
import type { WorldClusters } from './world_clusters.ts'

/** The state of a world's clusters at a time. */
export interface WorldSnapshot {
  /** The world's time when it was made. */
  readonly time: Date
}

interface Snapshots {
  snapshot(): WorldSnapshot
  restore(snapshot: WorldSnapshot): void
}

export function snapshotsOf(clusters: WorldClusters, clock: FakeClock): Snapshots {
  const backups = new WeakMap<WorldSnapshot, () => void>()
  return {
    snapshot() {
      const snapshot: WorldSnapshot = { time: new Date(clock.now()) }
      backups.set(snapshot, clusters.backup())
      return snapshot
    },
    restore(snapshot) {
      const back = backups.get(snapshot)
      if (!back) throw new TypeError('Cannot restore the world: give what the snapshot() of this world returned')
      back()
    },
  }
}
