/** Part of ssh2 that the service uses. @source README.md and SFTP.md, 1.17.0 */
declare module 'ssh2' {
  import type { EventEmitter } from 'node:events';

  export interface ConnectConfig {
    readonly host: string;
    readonly port: number;
    readonly username: string;
    readonly password?: string;
    readonly privateKey?: string;
    readonly readyTimeout?: number;
    readonly keepaliveInterval?: number;
    readonly hostVerifier: (key: Buffer) => boolean;
  }

  export type Done<T> = (failure: Error | undefined | null, result: T) => void;

  export interface SftpStats {
    readonly size: number;
    isDirectory(): boolean;
  }

  export interface Sftp {
    readFile(path: string, done: Done<Buffer>): void;
    writeFile(path: string, content: Buffer, done: Done<void>): void;
    stat(path: string, done: Done<SftpStats>): void;
    mkdir(path: string, done: Done<void>): void;
    unlink(path: string, done: Done<void>): void;
    rename(from: string, to: string, done: Done<void>): void;
    realpath(path: string, done: Done<string>): void;
    ext_openssh_rename(from: string, to: string, done: Done<void>): void;
    end(): void;
  }

  export class Client extends EventEmitter {
    connect(config: ConnectConfig): this;
    sftp(done: Done<Sftp>): void;
    end(): void;
    destroy(): void;
  }
}
