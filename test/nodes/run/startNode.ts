import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NodeCommand } from '../find/nodeCommand.js'
import type { Mode, NodeDescription } from '../nodes/description.js'
import { type NodeProcess, startNodeProcess } from './nodeProcess.js'

/** A node that makes its blocks as the mode says. After a restart, what it does not keep on disk is gone. */
export type RunningNode = NodeProcess & {
  readonly description: NodeDescription
  readonly mode: Mode
  /** One block with what the pool holds, in the mode `manual`. */
  mine(): Promise<void>
}

export type StartOptions = {
  readonly mode: Mode
  /** Further arguments. */
  readonly more?: readonly string[] | undefined
  /** The chain is kept in a folder until the node is stopped for good. */
  readonly onDisk?: boolean | undefined
}

/** @throws Error with what the node wrote, where it does not start */
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
