import type { Setting } from '../cases/nodeCase.js'
import type { NodeCommand } from '../find/nodeCommand.js'
import type { Mode, NodeDescription } from '../nodes/description.js'
import { type RunningNode, startNode } from './startNode.js'

/** The nodes of one client. Shared nodes are started at first use, and stopped with the setting. */
export function openSetting(description: NodeDescription, command: NodeCommand): Setting & AsyncDisposable {
  const shared = new Map<Mode, Promise<RunningNode>>()
  return {
    description,
    shared(mode) {
      const known = shared.get(mode) ?? startNode(description, command, { mode })
      shared.set(mode, known)
      return known
    },
    start: (options) => startNode(description, command, options),
    async [Symbol.asyncDispose]() {
      const nodes = await Promise.allSettled(shared.values())
      for (const node of nodes) if (node.status === 'fulfilled') await node.value[Symbol.asyncDispose]()
    },
  }
}
