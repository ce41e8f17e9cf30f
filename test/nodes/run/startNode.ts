import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NodeCommand } from '../find/nodeCommand.js'
import type { Mode, NodeDescription } from '../nodes/description.js'
import { type NodeProcess, startNodeProcess } from './nodeProcess.js'

/**
 * A node that makes its blocks according to its mode. A restart loses everything that it does not keep on
 * disk.
 */
export type RunningNode = NodeProcess & {
  readonly description: NodeDescription
  readonly mode: Mode
  /** Makes one block from the pool, in the mode `manual`. */
  mine(): Promise<void>
}

export type StartOptions = {
  readonly mode: Mode
  /** Further arguments. */
  readonly more?: readonly string[] | undefined
  /** Keeps the chain in a folder until the node is finally stopped. */
  readonly onDisk?: boolean | undefined
}

/** @throws Error with the node's output, if it does not start */
export async function startNode(
  description: NodeDescription,
  command: NodeCommand,
  { mode, more = [], onDisk = false }: StartOptions,
): Promise<RunningNode> {
  const folder = onDisk ? await mkdtemp(join(tmpdir(), 'txlane-node-')) : undefined
  const kept = folder === undefined ? [] : description.onDisk(folder)
  const running = await startNodeProcess(command, [...description.args[mode], ...kept, ...more])
  const { url, rpc } = running
  await description.begin?.(rpc, mode)
  return {
    description,
    mode,
    url,
    rpc,
    mine: () => description.mine(rpc),
    async restart(signal) {
      await running.restart(signal)
      await description.begin?.(rpc, mode)
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
