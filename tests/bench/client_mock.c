/* A server that streams tokens on a fixed beat and logs the truth: when each request arrived and each chunk was sent.
 *
 * usage: mock LOG CHUNKS INTERVAL_US SLOTS CORE
 * Prints its port on 127.0.0.1, serves until SIGTERM, then writes LOG. A request belongs to the stream whose number its
 * body names ("stream-17"). Stream s gets a chunk in slot s % SLOTS of every interval: SLOTS 1 is lockstep.
 * LOG holds, for each request in native byte order: int64 stream, chunks n, arrival (ns), n times of sending (ns); all on
 * CLOCK_MONOTONIC. Arrival is the kernel's stamp on the request; a chunk's time is taken just before send(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 8192 /* descriptors */
#define REQUEST_BYTES 65536

struct stream { /* one request: kept until the log is written */
    int64_t number, arrival_ns, sent, *sent_ns;
    struct stream *next; /* of all, newest first */
};

struct connection {
    char *request;
    size_t length;
    int64_t arrival_ns;
    int close_after;
    struct stream *stream; /* NULL: no request is being answered */
    int next;              /* descriptor of the next active connection in its slot, -1: none */
};

static struct connection connections[CONNECTIONS];
static struct stream *all_streams;
static int *slots, slot_count, chunk_count, epoll;
static int64_t realtime_offset_ns;
static volatile sig_atomic_t stopping;

static void stop(int signal_number) { (void)signal_number; stopping = 1; }

static void fail(const char *what) { perror(what); exit(1); }

static int64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void put(int fd, const char *content, size_t length) {
    if (send(fd, content, length, MSG_NOSIGNAL) != (ssize_t)length && errno != EPIPE && errno != ECONNRESET)
        fail("the client does not read: its buffer is full");
}

static size_t event(char *out, const char *json, int length) { /* one HTTP chunk that holds one event */
    return (size_t)sprintf(out, "%x\r\ndata: %.*s\n\n\r\n", (unsigned)(length + 8), length, json);
}

static size_t token(char *out, int64_t number, int tokens, const char *delta, const char *finish) {
    char json[512];
    int length = sprintf(json,
        "{\"id\":\"chatcmpl-%016lx\",\"object\":\"chat.completion.chunk\",\"created\":1796056534,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"delta\":{%s},\"logprobs\":null,\"finish_reason\":%s,\"token_ids\":null}],"
        "\"usage\":{\"prompt_tokens\":71,\"total_tokens\":%d,\"completion_tokens\":%d,"
        "\"completion_tokens_details\":null}}", (unsigned long)number, delta, finish, 71 + tokens, tokens);
    return event(out, json, length);
}

static const char HEAD[] =
    "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "transfer-encoding: chunked\r\n%s\r\n";

static void drop(int fd) { free(connections[fd].request); connections[fd].request = NULL; close(fd); }

static int step(int fd) { /* send the next chunk; return whether the stream goes on */
    struct connection *c = &connections[fd];
    struct stream *s = c->stream;
    char out[2048];
    size_t length = 0;
    int last = s->sent + 1 == chunk_count;
    if (s->sent == 0) {
        length += (size_t)sprintf(out, HEAD, c->close_after ? "connection: close\r\n" : "");
        length += token(out + length, s->number, 0, "\"role\":\"assistant\",\"content\":\"\"", "null");
    }
    length += token(out + length, s->number, (int)s->sent + 1, "\"content\":\" word\"", last ? "\"length\"" : "null");
    s->sent_ns[s->sent++] = now_ns(CLOCK_MONOTONIC);
    put(fd, out, length);
    if (!last) return 1;
    char usage[256];
    int bytes = sprintf(usage, "{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":71,"
        "\"total_tokens\":%d,\"completion_tokens\":%d}}", 71 + chunk_count, chunk_count);
    length = event(out, usage, bytes);
    length += event(out + length, "[DONE]", 6);
    length += (size_t)sprintf(out + length, "0\r\n\r\n");
    put(fd, out, length);
    c->stream = NULL;
    c->length = 0;
    if (c->close_after) drop(fd);
    return 0;
}

static void beat(int slot) {
    int *link = &slots[slot];
    while (*link >= 0) {
        int fd = *link, next = connections[fd].next;
        if (step(fd)) link = &connections[fd].next;
        else *link = next;
    }
}

static void begin(int fd) {
    struct connection *c = &connections[fd];
    const char *named = strstr(c->request, "stream-");
    struct stream *s = calloc(1, sizeof *s);
    s->sent_ns = calloc((size_t)chunk_count, sizeof *s->sent_ns);
    s->number = named ? atol(named + 7) : -1;
    s->arrival_ns = c->arrival_ns;
    s->next = all_streams;
    all_streams = s;
    c->close_after = strcasestr(c->request, "\r\nconnection: close") != NULL;
    c->stream = s;
    int slot = (int)((s->number < 0 ? 0 : s->number) % slot_count);
    c->next = slots[slot];
    slots[slot] = fd;
}

static void take(int fd) { /* read what is there; begin to answer when the request is whole */
    struct connection *c = &connections[fd];
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(struct timespec))]; } control;
    struct iovec part = {c->request + c->length, REQUEST_BYTES - 1 - c->length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(fd, &message, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
        if (c->stream == NULL) drop(fd);
        else if (epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL)) fail("epoll_ctl");
        return;
    }
    c->length += (size_t)count;
    c->request[c->length] = 0;
    if (!strncmp(c->request, "GET ", 4) && strstr(c->request, "\r\n\r\n")) { /* of models or metrics: there are none */
        static const char none[] = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        put(fd, none, sizeof none - 1);
        drop(fd);
        return;
    }
    struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
    c->arrival_ns = now_ns(CLOCK_MONOTONIC);
    if (stamp && stamp->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec t;
        memcpy(&t, CMSG_DATA(stamp), sizeof t);
        c->arrival_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec - realtime_offset_ns;
    }
    char *body = strstr(c->request, "\r\n\r\n"), *length = strcasestr(c->request, "\r\ncontent-length:");
    if (body && length && c->length >= (size_t)(body + 4 - c->request) + (size_t)atol(length + 17)) begin(fd);
}

static void welcome(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= CONNECTIONS) { fprintf(stderr, "too many connections\n"); exit(1); }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        connections[fd] = (struct connection){.request = malloc(REQUEST_BYTES), .next = -1};
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted)) fail("epoll_ctl");
    }
}

static void write_log(const char *path) {
    FILE *log = fopen(path, "wb");
    if (!log) fail(path);
    for (struct stream *s = all_streams; s; s = s->next) {
        int64_t head[3] = {s->number, s->sent, s->arrival_ns};
        fwrite(head, sizeof *head, 3, log);
        fwrite(s->sent_ns, sizeof *s->sent_ns, (size_t)s->sent, log);
    }
    if (fclose(log)) fail(path);
}

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "usage: mock LOG CHUNKS INTERVAL_US SLOTS CORE\n"); return 2; }
    chunk_count = atoi(argv[2]);
    slot_count = atoi(argv[4]);
    pin(atoi(argv[5]));
    slots = malloc(sizeof *slots * (size_t)slot_count);
    for (int i = 0; i < slot_count; i++) slots[i] = -1;
    int64_t before = now_ns(CLOCK_MONOTONIC), real = now_ns(CLOCK_REALTIME);
    realtime_offset_ns = real - (before + now_ns(CLOCK_MONOTONIC)) / 2;
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    setsockopt(listener, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on); /* inherited: the first segment is stamped too */
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    epoll = epoll_create1(0);
    int64_t period = atol(argv[3]) * 1000 / slot_count;
    struct timespec one = {period / 1000000000, period % 1000000000};
    struct itimerspec every = {.it_interval = one, .it_value = one};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    timerfd_settime(timer, 0, &every, NULL);
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = listener}, found[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &wanted);
    wanted.data.fd = timer;
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &wanted);
    int slot = 0;
    while (!stopping) {
        int count = epoll_wait(epoll, found, 256, -1);
        for (int i = 0; i < count; i++) {
            int fd = found[i].data.fd;
            uint64_t beats = 0;
            if (fd == listener) welcome(listener);
            else if (fd != timer) take(fd);
            else if (read(timer, &beats, sizeof beats) == sizeof beats)
                for (; beats > 0; beats--, slot = (slot + 1) % slot_count) beat(slot);
        }
    }
    write_log(argv[1]);
    return 0;
}
