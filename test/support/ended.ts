import type { ChildProcess } from 'node:child_process'

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** What a process wrote, once it has ended. Rejects where it could not be started. */
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
