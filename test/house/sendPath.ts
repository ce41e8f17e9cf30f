import { createHook, executionAsyncId } from 'node:async_hooks'
import { Socket } from 'node:net'

/** One function on a stack, without those of Node and of packages. */
export type Frame = { readonly file: string; readonly name: string }

/** The stacks of the hand-overs, first to last, each from the caller to the function that was called last. */
export type SendPath = readonly (readonly Frame[])[]

type HandOver = { readonly from: number; readonly stack: string }

const DEPTH = 200
const METHOD = 'eth_sendRawTransaction'

/**
 * Follows one `send` from the caller to the socket. The work passes from one function to the next on a stack,
 * and from one stack to the next by a promise or a timer. The path is the chain of those stacks that leads
 * back from the first write of `eth_sendRawTransaction` to the call of `send`. A function that the path only
 * calls and returns from, such as a check or a price, is not on it.
 */
export async function traceSend(send: () => Promise<unknown>): Promise<SendPath> {
  const handOvers = new Map<number, HandOver>()
  const hook = createHook({
    init(id) {
      handOvers.set(id, { from: executionAsyncId(), stack: new Error().stack ?? '' })
    },
  })
  const depth = Error.stackTraceLimit
  const { write } = Socket.prototype
  const written = new Promise<SendPath>((resolve) => {
    Socket.prototype.write = function (this: Socket, ...args: unknown[]) {
      if (String(args[0]).includes(METHOD)) resolve(pathTo(executionAsyncId(), new Error().stack, handOvers))
      return Reflect.apply(write, this, args) as boolean
    } as typeof write
  })
  Error.stackTraceLimit = DEPTH
  hook.enable()
  try {
    const sent = send()
    // A send that rejects writes nothing.
    const path = await Promise.race([written, sent.then(() => written)])
    hook.disable()
    await sent
    return path
  } finally {
    hook.disable()
    Error.stackTraceLimit = depth
    Socket.prototype.write = write
  }
}

function pathTo(last: number, stack = '', handOvers: ReadonlyMap<number, HandOver>): SendPath {
  const path = [framesOf(stack)]
  for (let at = handOvers.get(last); at !== undefined; at = handOvers.get(at.from))
    path.unshift(framesOf(at.stack))
  return path.filter((frames) => frames.length > 0)
}

function framesOf(stack: string): readonly Frame[] {
  return stack
    .split('\n')
    .flatMap((line) => {
      const [, name = '', file] = /at (?:async )?(.*?) ?\(?[^ (]*\/(src\/[^:?]+\.ts)/.exec(line) ?? []
      return file === undefined ? [] : [{ file, name }]
    })
    .reverse()
}
