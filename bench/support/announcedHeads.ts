import type { Hex } from 'viem'
import { WebSocket } from 'ws'
import { pause } from '../../test/support/pause.js'
import { sharedNowMs } from './sharedNow.js'

/** When a node announced each of its blocks, over a subscription of its own. */
export type AnnouncedHeads = AsyncDisposable & { atMs(hash: Hex): Promise<number> }

// A library may know a block before this connection has received its announcement.
const LOOKS_MAX = 200
const LOOK_MS = 10

export async function watchHeads(url: string): Promise<AnnouncedHeads> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'))
  const seen = new Map<Hex, number>()
  socket.on('message', (data) => {
    const atMs = sharedNowMs()
    const { params } = JSON.parse(data.toString()) as { params?: { result: { hash: Hex } } }
    if (params !== undefined) seen.set(params.result.hash, atMs)
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
  return {
    async atMs(hash) {
      for (let left = LOOKS_MAX; left > 0; left--, await pause(LOOK_MS)) {
        const atMs = seen.get(hash)
        if (atMs !== undefined) return atMs
      }
      throw new Error(`the node did not announce ${hash}`)
    },
    async [Symbol.asyncDispose]() {
      socket.terminate()
    },
  }
}
