import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts a server from another process and kills that process: the server is left running. @param file in stack/ */
export async function abandoned(file: string, start: string, options: object): Promise<{ url?: string; pid: number }> {
  const script = `
    import { ${start} } from ${JSON.stringify(new URL(`../../stack/${file}`, import.meta.url).href)}
    const { url, pid } = await ${start}(${JSON.stringify(options)})
    process.stdout.write(JSON.stringify({ url, pid }))
    setInterval(() => undefined, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(parent.stdout, 'data')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  return JSON.parse(String(line)) as { url?: string; pid: number }
}
