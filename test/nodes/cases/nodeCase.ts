import type { Ability, NodeDescription } from '../nodes/description.js'
import type { RunningNode, StartOptions } from '../run/startNode.js'

/** The result of a case, and its figures in one line. */
export type Held = { readonly ok: boolean; readonly says: string }

/** The nodes of one client. */
export type Setting = {
  readonly description: NodeDescription
  /** A node that other cases use too. It stays up. */
  shared(mode: StartOptions['mode']): Promise<RunningNode>
  /** A node without earlier transactions. Its case has to stop it. */
  start(options: StartOptions): Promise<RunningNode>
}

/** One scenario to run on a node. */
export type NodeCase = {
  readonly name: string
  readonly needs?: readonly Ability[]
  /** `npm test` runs it if there is a geth. */
  readonly quick?: boolean
  /** It compares the messages of a node with its behaviour. */
  readonly isRefusal?: boolean
  /** The reason to skip it on this node, apart from missing abilities. */
  leftOut?(description: NodeDescription): string | undefined
  /** @throws Error if the promise is broken, or cannot be checked */
  run(setting: Setting): Promise<Held>
}

export function seconds(timeMs: number): string {
  return `${(timeMs / 1_000).toFixed(1)} s`
}
