import type { ChildProcess } from 'node:child_process'

/** What a process answers to each thing that it is told to do. */
export type Said<value> =
  | { readonly type: 'done'; readonly value: value }
  | { readonly type: 'failed'; readonly why: string }

/** In the child: answers with what comes of the work. */
export function answerWith<value>(work: Promise<value>): void {
  const say = (said: Said<value>) => process.send?.(said)
  work.then(
    (value) => say({ type: 'done', value }),
    (error: unknown) => say({ type: 'failed', why: String(error).split('\n')[0] ?? '' }),
  )
}

/** The child's next answer. @throws Error when the child failed or ended */
export function heard<value = undefined>(child: ChildProcess): Promise<value> {
  return new Promise((resolve, reject) => {
    const end = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once('exit', end)
    child.once('message', (said: Said<value>) => {
      child.removeListener('exit', end)
      if (said.type === 'done') resolve(said.value)
      else reject(new Error(said.why))
    })
  })
}

/** Each ends by itself when nobody has anything to ask of it any more. */
export async function letGo(children: readonly ChildProcess[]): Promise<void> {
  const ends = children.map(ended)
  for (const child of children) if (child.connected) child.disconnect()
  await Promise.all(ends)
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => child.once('exit', () => resolve()))
}
