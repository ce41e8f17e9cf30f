import type { Held, NodeCase, Setting } from '../cases/nodeCase.js'
import type { NodeCommand } from '../find/nodeCommand.js'
import type { Mode, NodeDescription } from '../nodes/description.js'
import { firstLine } from '../tools/firstLine.js'
import { type RunningNode, startNode } from './startNode.js'

export function isCovered(
  { isRefusal = false }: NodeCase,
  { refusalsAlone = false }: NodeDescription,
): boolean {
  return isRefusal || !refusalsAlone
}

/** The reason to skip the case on this node; undefined if it runs. */
export function leftOut(one: NodeCase, description: NodeDescription): string | undefined {
  const missing = (one.needs ?? []).find((ability) => description.lacks[ability] !== undefined)
  return missing === undefined ? one.leftOut?.(description) : description.lacks[missing]
}

/** Never rejects: an error becomes the case's result. */
export async function runCase(one: NodeCase, setting: Setting): Promise<Held> {
  try {
    return await one.run(setting)
  } catch (error) {
    return { ok: false, says: firstLine(error) }
  }
}

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
