import type { Ability, NodeDescription } from '../nodes/description.js'
import type { RunningNode, StartOptions } from '../run/startNode.js'

/** What became of a case, and its figure in a line. */
export type Held = { readonly ok: boolean; readonly says: string }

/** Nodes of one client. */
export type Setting = {
  readonly description: NodeDescription
  /** One that other cases use too. Stays up. */
  shared(mode: StartOptions['mode']): Promise<RunningNode>
  /** One that nothing was ever sent to. For its case to stop. */
  start(options: StartOptions): Promise<RunningNode>
}

/** One reason to run a node. */
export type NodeCase = {
  readonly name: string
  readonly needs?: readonly Ability[]
  /** `npm test` runs it on a geth that is there. */
  readonly quick?: boolean
  /** It compares the words of a node with what it does. */
  readonly isRefusal?: boolean
  /** Why it is left out on this node, where that is not for want of an ability. */
  leftOut?(description: NodeDescription): string | undefined
  /** @throws Error where the promise is broken, or cannot be looked at */
  run(setting: Setting): Promise<Held>
}

export function seconds(timeMs: number): string {
  return `${(timeMs / 1_000).toFixed(1)} s`
}
