"""Objectives of convex accounts by cvxopt. Usage: node dist/test/kernels/lots/write-accounts.js | python3 convex-reference.py > convex-reference.json"""
import json, sys
from cvxopt import matrix, solvers
import numpy as np
solvers.options.update(show_progress=False, abstol=1e-13, reltol=1e-12, feastol=1e-12, maxiters=200)
def solve(p):
    n,k=p['n'],p['k']; B=np.array(p['loadings']).reshape(n,k); D=np.array(p['specific'])
    start=p['lotStart']; m=len(p['lotSize'])
    # variables: x (lots), y (purchases), t
    N=m+n+1
    A=np.zeros((n,N))
    for i in range(n):
        for l in range(start[i],start[i+1]): A[i,l]=-1
        A[i,m+i]=1
    cost=np.zeros(N)
    for i in range(n):
        cost[start[i]:start[i+1]]=p['costRate'][i]; cost[m+i]=p['costRate'][i]
    S=np.zeros(N);S[:m]=p['lotShort'];L=np.zeros(N);L[:m]=p['lotLong']
    d=np.array(p['heldWeights'])-np.array(p['target'])
    F=np.vstack([B.T,np.diag(np.sqrt(D))]) # f=|F(d+Az)|^2
    FA=F@A; Fd=F@d
    G=[];h=[]
    size=np.concatenate([p['lotSize'],p['buyLimit']])
    for j in range(m+n):
        r=np.zeros(N);r[j]=-1;G.append(r);h.append(0)
        r=np.zeros(N);r[j]=1;G.append(r);h.append(size[j])
    for i in range(n):
        G.append(-A[i]);h.append(p['heldWeights'][i]-p['lower'][i]); G.append(A[i]);h.append(p['upper'][i]-p['heldWeights'][i])
    for row in p['rows']:
        w=np.array(row['weights']); g=w@A+row['cost']*cost+row['short']*S+row['long']*L
        G.append(g);h.append(-(row['constant']+w@np.array(p['heldWeights'])+row['short']*p['fixedShort']+row['long']*p['fixedLong']))
    for q in p['sides'][0]['pieces']:
        g=q['short']*S+q['long']*L; g[N-1]-=1
        G.append(g);h.append(-(q['constant']+q['short']*p['fixedShort']+q['long']*p['fixedLong']))
    g=-L.copy();G.append(g);h.append(p['fixedLong'])
    c=cost.copy();c[N-1]=p['taxWeight']
    a=p['aversion']
    P=2*a*FA.T@FA; q=c+2*a*FA.T@Fd
    const=a*Fd@Fd
    G=np.array(G);h=np.array(h,dtype=float)
    lim=p['varianceLimit']
    if lim=='inf':
        r=solvers.qp(matrix(P),matrix(q),matrix(G),matrix(h)); assert r['status']=='optimal',r['status']
        return float(r['primal objective']+const), float(r['gap'])
    # epigraph: minimise a*s^2-type via SOCP: |F(d+Az)|<=sqrt(lim) and quadratic objective by rotated cone u>=|.|^2
    M=N+1 # u last
    G2=np.hstack([G,np.zeros((len(G),1))])
    Gl=matrix(G2);hl=matrix(h)
    rows=F.shape[0]
    q1=np.zeros((rows+1,M));q1[1:,:N]=-FA;h1=np.concatenate([[np.sqrt(lim)],Fd])
    q2=np.zeros((rows+2,M));q2[0,M-1]=-1;q2[1,M-1]=-1;q2[2:,:N]=-2*FA;h2=np.concatenate([[1],[-1],2*Fd])
    cc=np.concatenate([c,[a]])
    problem=(matrix(cc),matrix(np.vstack([G2,q1,q2])),matrix(np.concatenate([h,h1,h2])),{'l':len(G2),'q':[rows+1,rows+2],'s':[]})
    for tolerance in (1e-11,1e-10):
        solvers.options.update(abstol=tolerance,reltol=10*tolerance,feastol=10*tolerance)
        try: r=solvers.conelp(*problem)
        except ValueError: continue
        break
    assert r['status']=='optimal',r['status']
    return float(r['primal objective']), float(r['gap'])
if __name__=='__main__':
    cases=[json.loads(line) for line in sys.stdin]; out=[]
    for p in cases:
        o,g=solve(p); out.append(o); print(o,g,file=sys.stderr)
    json.dump(out,sys.stdout)
