import type { ChildProcess } from 'node:child_process'

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** The output of a process, once it has ended. Rejects if the process could not be started. */
export function ended(child: ChildProcess): Promise<Ended> {
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}
