import type { Tracker } from '../../chain/blocks/blockPoller.js'
import type { Follower } from '../../chain/blocks/follower.js'
import type { Book } from '../../ledger/book.js'
import type { Slot } from '../../ledger/slot.js'

type AttemptWatchParts = {
  readonly book: Pick<Book, 'slots'>
  readonly tracker: Pick<Tracker, 'watch' | 'unwatch'>
}

/** Has the poller watch for the hashes of all attempts that may still land. */
export type AttemptWatch = {
  moved(before: Slot | undefined, after: Slot): void
  /** Watches the hashes of new attempts for this follower. */
  follow(follower: Follower): void
  unfollow(): void
}

export function createAttemptWatch({ book, tracker }: AttemptWatchParts): AttemptWatch {
  let follower: Follower | undefined

  function unwatch(slot: Slot | undefined): void {
    for (const { hash } of slot?.attempts ?? []) tracker.unwatch(hash)
  }

  return {
    moved(before, after) {
      if (follower === undefined) return
      if (after.state === 'final') {
        unwatch(before)
        return
      }
      if (after.attempts.length === (before?.attempts.length ?? 0)) return
      for (const { hash } of after.attempts) tracker.watch(hash, follower)
    },
    follow(next) {
      follower = next
    },
    unfollow() {
      for (const slot of book.slots.values()) unwatch(slot)
    },
  }
}
