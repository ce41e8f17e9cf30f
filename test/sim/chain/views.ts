import type { SimBlock, View } from './block.js'
import type { ChainSettings } from './options.js'

/** The views of the chain so far, for replicas that lag. */
export type Views = {
  publish(head: SimBlock, pending: SimBlock | undefined): void
  /** The view of a replica that is `lagMs` behind. */
  at(lagMs: number): View
}

// The largest lag of a replica, in changes of the view.
const VIEWS_MAX = 1_024

export function createViews({ clock, onView }: Pick<ChainSettings, 'clock' | 'onView'>): Views {
  const views: View[] = []
  return {
    publish(head, pending) {
      const view = { atMs: clock.now(), head, pending }
      views.push(view)
      onView(view)
      if (views.length > VIEWS_MAX) views.splice(0, VIEWS_MAX / 2)
    },
    at(lagMs) {
      const atMs = clock.now() - lagMs
      let index = views.length - 1
      if (lagMs > 0) while (index > 0 && (views[index] as View).atMs > atMs) index--
      return views[index] as View
    },
  }
}
